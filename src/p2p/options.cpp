#include "p2p/options.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

using Action = P2pOptions::Action;

std::vector<int> parse_devices(std::string_view text) {
  std::vector<int> devices;
  for (const std::string& part : split(text, ',')) {
    const int device = parse_count("--devices", part, 0, 1023);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      throw BadInput("--devices '" + std::string(text) + "' names device " + part + " twice: name each once");
    devices.push_back(device);
  }
  return devices;
}

/// "A,B,C" by `parse` of each.
template <class Parse>
auto parse_list(std::string_view text, const Parse& parse) {
  std::vector<decltype(parse(text))> out;
  for (const std::string& part : split(text, ',')) out.push_back(parse(part));
  return out;
}

struct SizeRange {
  std::uint64_t low, high;
};

/// A latency between ranks is also asked of empty messages; whoever cannot have them says so.
std::uint64_t parse_message(std::string_view option, std::string_view text) {
  return text == "0" ? 0 : parse_size(option, text);
}

SizeRange parse_range(std::string_view option, const std::string& low, const std::string& high) {
  const SizeRange range{parse_message(option, low), parse_size(option, high)};
  if (range.low > range.high)
    throw BadInput(std::string(option) + " begins at " + low + " and ends at " + high +
                   ": name the smaller size first");
  return range;
}

std::vector<std::uint64_t> parse_sweep(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3)
    throw BadInput("--sweep '" + std::string(text) + "': use MIN:MAX or MIN:MAX:FACTOR, such as 4KiB:512MiB:2");
  const auto [low, high] = parse_range("--sweep", parts[0], parts[1]);
  return sweep_sizes(low, high, parts.size() == 3 ? parse_number("--sweep", parts[2], 1.01, 1024) : 2);
}

std::vector<std::uint64_t> parse_random(std::string_view text, int seed) {
  const auto parts = split(text, ':');
  if (parts.size() != 3)
    throw BadInput("--random-sizes '" + std::string(text) + "': use COUNT:MIN:MAX, such as 10:1KiB:64MiB");
  const int count = parse_count("--random-sizes", parts[0], 1, 10000);
  const auto [low, high] = parse_range("--random-sizes", parts[1], parts[2]);
  return random_sizes(static_cast<std::size_t>(count), low, high, static_cast<std::uint64_t>(seed));
}

/// "NV18=450,HOST=55".
std::map<std::string, double> parse_limits(std::string_view text) {
  std::map<std::string, double> limits;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw BadInput("--limit '" + std::string(text) + "': use CLASS=GB/s, such as NV18=450,HOST=63");
    limits[part.substr(0, equals)] = parse_number("--limit", std::string_view(part).substr(equals + 1), 1e-3, 1e6);
  }
  return limits;
}

bool parse_switch(std::string_view option, std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw BadInput(std::string(option) + " '" + std::string(text) + "': use on or off");
}

int parse_threads(std::string_view text) {
  const int threads = parse_count("--threads", text, 32, 1024);
  if (threads % 32 != 0) throw BadInput("--threads '" + std::string(text) + "': use a multiple of 32, up to 1024");
  return threads;
}

/// The options, and what of the command line they are made from at its end.
struct Given {
  P2pOptions options;
  std::string_view random;  ///< --random-sizes
  int seed = 1;
  int size_options = 0;
};

/// The table of options: what --help prints and what each does.
std::vector<Option> option_table(Given& given) {
  P2pOptions& o = given.options;
  auto& [options, random, seed, size_options] = given;
  const auto action = [&o](Action wanted) { return [&o, wanted](std::string_view) { o.action = wanted; }; };
  const auto axis = [](auto& slot) {
    return [&slot](std::string_view v) { slot = parse_word<typename std::decay_t<decltype(slot)>::value_type>(v); };
  };
  return {
      {"--list", "", "list the test cases and end", action(Action::list)},
      {"--testcase", "NAME[,NAME…]", "run these test cases", [&](auto v) { o.named = named_testcases(v); }},
      {"--suite", "NAME", "run a suite: " + suite_names() + " (default: quick)",
       [&](auto v) { suite(v), o.suite = v; }},
      {"--topology", "", "print the topology, measure nothing", action(Action::topology)},
      {"--metric", "METRIC", "test cases with this metric: " + all_words<Metric>(), axis(o.axes.metric)},
      {"--direction", "DIRECTION", "test cases with this direction: " + all_words<Direction>(), axis(o.axes.direction)},
      {"--engine", "ENGINE", "test cases with this engine: " + all_words<Engine>(), axis(o.axes.engine)},
      {"--memory", "MEMORY", "test cases with this memory; of ranks, where their data is: " + all_words<Memory>(),
       axis(o.axes.memory)},
      {"--peer-access", "on|off", "test cases with or without peer access (default: on)",
       [&](auto v) { o.axes.peer_access = parse_switch("--peer-access", v); }},
      {"--kernel", "KERNEL", "copy kernel of the sm engine: " + all_words<Kernel>() + " (default: noncached)",
       [&](auto v) { o.plan.kernel = parse_word<Kernel>(v); }},
      {"--blocks", "N[,M…]",
       "thread blocks of the sm engine's kernels (default: the best known); several: each in turn",
       [&](auto v) { o.blocks = parse_list(v, [](auto b) { return parse_count("--blocks", b, 1, 1 << 20); }); }},
      {"--threads", "N", "threads of a block, a multiple of 32 (default: the best known)",
       [&](auto v) { o.plan.threads = parse_threads(v); }},
      {"--window", "N", "messages in flight between two ranks (default: 64)",
       [&](auto v) { o.ranks.window = parse_count("--window", v, 1, 1024); }},
      {"--pairs-per-node", "N",
       "between two nodes at once: pairs of ranks that make one cell of node_to_node_* (default: all), or cells of "
       "rank_to_rank_* (default: as many as a node has network adapters)",
       [&](auto v) { o.ranks.lanes = static_cast<std::size_t>(parse_count("--pairs-per-node", v, 1, 1024)); }},
      {"--mapping", "MAPPING",
       "of node_to_node_*: " + all_words<ranks::Mapping>() + "; each rank with that of its number, or the next one",
       [&](auto v) { o.ranks.mapping = parse_word<ranks::Mapping>(v); }},
      {"--transport", "TRANSPORT",
       "of device memory between ranks: " + all_words<Transport>() +
           " (default: auto: ipc inside a node, between nodes "
           "mpi where it is CUDA-aware, else staged)",
       [&](auto v) { o.ranks.transport = parse_word<Transport>(v); }},
      {"--pair-timeout", "SECONDS", "of one pair of ranks; what hangs is marked and the rest goes on (default: 30)",
       [&](auto v) { o.ranks.pair_timeout = parse_number("--pair-timeout", v, 0.1, 86400); }},
      {"--devices", "I[,J…]", "only these devices (default: all)", [&](auto v) { o.devices = parse_devices(v); }},
      {"--size", "BYTES[,BYTES…]",
       "bytes of one transfer, with KiB MiB GiB (default: 512MiB on GPUs, 128MiB host, 1MiB of a message)",
       [&](auto v) { o.sizes = parse_list(v, [](auto b) { return parse_message("--size", b); }), ++size_options; }},
      {"--sweep", "MIN:MAX[:FACTOR]",
       "sizes from MIN to MAX (default factor: 2); fits t = overhead + bytes / bandwidth",
       [&](auto v) { o.sizes = parse_sweep(v), o.sweep = true, ++size_options; }},
      {"--random-sizes", "N:MIN:MAX", "N random sizes between MIN and MAX",
       [&](auto v) { random = v, ++size_options; }},
      {"--seed", "N", "of --random-sizes (default: 1): the same seed, the same sizes",
       [&](auto v) { seed = parse_count("--seed", v, 0, 2147483647); }},
      {"--offset", "BYTES", "begin so far into the buffers (default: 0)",
       [&](auto v) { o.plan.offset = v == "0" ? 0 : parse_size("--offset", v); }},
      {"--triangle", "", "of pairs, only those above the diagonal", [&](auto) { o.plan.triangle = true; }},
      {"--local-copy", "", "of pairs, each device with itself too", [&](auto) { o.plan.local_copy = true; }},
      {"--utilisation", "", "print each value's share of its path's limit too", [&](auto) { o.utilisation = true; }},
      {"--limit", "CLASS=GBPS[,…]", "limits of one direction by link class, in place of the known ones (--limits)",
       [&](auto v) { o.plan.limits = parse_limits(v); }},
      {"--host-memory", "PAGES", "host memory of the GPUs' copies: " + all_words<HostPages>() + " (default: pinned)",
       [&](auto v) { o.plan.host_pages = o.host_memory.pages = parse_word<HostPages>(v); }},
      {"--huge-pages", "on|off", "host memory in pages of 2 MiB (default: on)",
       [&](auto v) { o.host_memory.huge = parse_switch("--huge-pages", v); }},
      {"--samples", "N", "samples of a cell before it may stop (default: 7; at most four times as many)",
       [&](auto v) {
         o.measure.stop.min_samples = parse_count("--samples", v, 1, 10000);
         o.measure.stop.max_samples = 4 * o.measure.stop.min_samples;
       }},
      {"--target-ci", "PERCENT", "stop when the median's interval is within ± this (default: 0.25)",
       [&](auto v) { o.measure.stop.target = parse_number("--target-ci", v, 0.001, 100) / 100; }},
      {"--max-time", "SECONDS", "of one matrix: then one sample for each cell left (default: 60)",
       [&](auto v) { o.measure.max_seconds = parse_number("--max-time", v, 0.001, 86400); }},
      {"--warmup", "N", "transfers of each cell before its first sample (default: 1)",
       [&](auto v) { o.measure.warmup = parse_count("--warmup", v, 1, 100); }},
      {"--verify", "", "compare the data that arrived; the default", [&](auto) { o.measure.verify = true; }},
      {"--no-verify", "", "do not compare the data that arrived", [&](auto) { o.measure.verify = false; }},
      {"--concurrency", "MODE", "pairs at once: " + all_words<Concurrency>() + " (default: auto, calibrated)",
       [&](auto v) { o.measure.concurrency = parse_word<Concurrency>(v); }},
      {"--max-display", "N", "print at most N rows and columns (default: 16)",
       [&](auto v) { o.max_display = static_cast<std::size_t>(parse_count("--max-display", v, 1, 100000)); }},
      {"--record", "FILE", "write everything as JSON, schema linkmatrix.record/1", [&](auto v) { o.record = v; }},
      {"--timeout", "SECONDS", "of the whole run; what was measured by then is kept (default: 600)",
       [&](auto v) { o.timeout = parse_number("--timeout", v, 0.001, 604800); }},
      {"--backend", "NAME",
       "cuda, host, mpi, or ipc: one process a GPU (default: mpi under mpirun, cuda where there is a GPU, else host)",
       [&](auto v) { o.backend = v; }},
      {"--simulate-fault", "KIND:ENDPOINT",
       "drill: " + simulated_fault_kinds() + " at an endpoint, e.g. slow:gpu1, or 'slow:gpu1->gpu2'",
       [&](auto v) { o.fault = parse_simulated_fault(v); }},
      {"--limits", "", "print the table of link limits and end", action(Action::limits)},
      {"--version", "", "print the version and end", action(Action::version)},
      {"--help", "", "print this and end", action(Action::help)},
  };
}

void refuse_contradictions(const P2pOptions& o) {
  Axes axes = o.axes;
  if (std::any_of(o.named.begin(), o.named.end(), [](const TestCase& t) { return t.engine == Engine::mpi; }))
    axes.memory.reset();  // of ranks: where their data is
  const int ways = !o.named.empty() + o.suite.has_value() + axes.any();
  if (o.plan.host_pages == HostPages::pageable && (!o.blocks.empty() || o.plan.threads > 0))
    throw BadInput(
        "--blocks and --threads shape kernels, which do not reach pageable memory: use --host-memory pinned");
  if (o.sweep && o.blocks.size() > 1) throw BadInput("--sweep varies the size: name one number of --blocks with it");
  if (ways > 1) throw BadInput("say which test cases in one way: --testcase, --suite, or axes such as --engine");
}

}  // namespace

P2pOptions parse_p2p_options(std::span<char* const> arguments) {
  Given given;
  for (const char* argument : arguments) given.options.command.emplace_back(argument);
  parse_command_line(arguments.subspan(1), option_table(given));
  if (given.size_options > 1) throw BadInput("say the sizes in one way: --size, --sweep or --random-sizes");
  if (!given.random.empty()) given.options.sizes = parse_random(given.random, given.seed);
  refuse_contradictions(given.options);
  return given.options;
}

std::string p2p_help() {
  Given unused;
  return "p2p_matrix measures every link between the devices of a node as a matrix: rows are sources, columns\n"
         "destinations, bandwidth in GB/s (1e9 bytes/s), latency in µs. Without options it runs the suite 'quick'.\n\n"
         "Options:\n" +
         options_text(option_table(unused)) +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device or MPI error,\n"
         "4 timed out (what was measured is in the record).\n";
}

}  // namespace linkmatrix
