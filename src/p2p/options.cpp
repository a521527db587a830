#include "p2p/options.hpp"

#include <algorithm>
#include <utility>

#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/limits.hpp"
#include "core/units.hpp"
#include "p2p/budget.hpp"
#include "program/option_rows.hpp"

namespace linkmatrix {
namespace {

using Row = OptionRow<P2pOptions, RunScope>;
using Condition = OptionCondition<P2pOptions, RunScope>;

std::string_view parse_format(std::string_view text) {
  if (text != "text" && text != "json") throw BadInput("--format '" + std::string(text) + "': use text or json");
  return text;
}

/// "A,B,C" by `parse` of each.
template <class Parse>
auto parse_list(std::string_view text, const Parse& parse) {
  std::vector<decltype(parse(text))> out;
  for (const std::string& part : split(text, ',')) out.push_back(parse(part));
  return out;
}

bool is_measured(const P2pOptions& o) { return o.print == nullptr && !o.topology; }

/// Whether a test case that is measured is one of those.
template <bool (*is)(const TestCase&)>
bool any(const P2pOptions&, const RunScope& run) {
  return std::any_of(run.testcases.begin(), run.testcases.end(), is);
}

bool is_of_ranks(const TestCase& t) { return t.engine == Engine::mpi; }
bool is_of_nodes(const TestCase& t) { return t.pattern == Pattern::nodes; }
bool takes_sizes(const TestCase& t) { return !has_own_size(t); }
bool has_open_kernel(const TestCase& t) { return copies_by_kernel(t) && !t.kernel; }
bool is_of_pairs(const TestCase& t) { return t.pattern == Pattern::pairs && !is_of_ranks(t); }
bool is_between_devices(const TestCase& t) {
  return is_of_pairs(t) || t.pattern == Pattern::inbound || t.pattern == Pattern::outbound;
}
bool has_messages(const TestCase& t) { return is_of_ranks(t) && t.metric != Metric::latency; }
bool is_with_host(const TestCase& t) { return !is_of_ranks(t) && memory_of(t) == Memory::host; }

bool are_ranks(const RunScope& run) { return run.backend == "mpi"; }
bool are_gpus(const RunScope& run) { return run.backend == "cuda" || run.backend == "ipc"; }

/// What the table's rows need of a run.
namespace condition {

const Condition lists{[](auto& o, auto&) { return o.print == testcase_list && !o.topology; },
                      "another option says what is printed: say one of them"};
const Condition limits{[](auto& o, auto&) { return o.print == limits_text && !o.topology; }, lists.why_not};
const Condition topology{[](auto& o, auto&) { return o.print == nullptr; }, lists.why_not};

const Condition has_format{[](auto& o, auto&) { return o.print == testcase_list; },
                           "only --list has a format: leave it out"};
const Condition runs{[](auto& o, auto&) { return o.print == nullptr; },
                     "only a table of the program is printed: leave it out"};
const Condition measures{[](auto& o, auto&) { return is_measured(o); }, "nothing is measured: leave it out"};
const Condition chooses_memory{[](auto& o, auto& run) { return is_measured(o) || (o.topology && are_ranks(run)); },
                               measures.why_not};
const Condition has_open_memory{
    [](auto& o, auto& run) { return are_ranks(run) || !is_measured(o) || (o.named.empty() && !o.suite); },
    "a test case that is named, or of a suite, has its own: leave it out"};
const Condition heats{[](auto&, auto& run) { return !are_ranks(run); },
                      "ranks are not heated: leave it out, or start the program without mpirun"};
const Condition of_devices{[](auto&, auto& run) { return !are_ranks(run); },
                           "the launcher chooses the ranks: start fewer with mpirun -n"};

const Condition has_sizes{any<takes_sizes>,
                          "every test case measured has a size of its own: leave it out, or measure a bandwidth"};
const Condition draws{
    [](auto& o, auto&) { return o.is_given("--random-sizes") || o.measure.concurrency == Concurrency::matchings; },
    "nothing is drawn at random: say --random-sizes too, or --concurrency matchings"};
const Condition confirms{[](auto& o, auto&) { return o.measure.concurrency == Concurrency::matchings; },
                         "it is for a few matchings: say --concurrency matchings too"};

const Condition has_one_size{[](auto& o, auto&) { return o.sizes.size() < 2 && o.blocks.size() < 2; },
                             "references are of one size: leave it out, or measure one size and number of blocks"};
const Condition takes_second_looks{[](auto& o, auto&) { return o.measure.concurrency != Concurrency::matchings; },
                                   "matchings confirm what they find by themselves: leave it out"};

const Condition copies_by_kernels{any<copies_by_kernel>,
                                  "no test case measured copies by kernels: leave it out, or name one of --engine sm"};
const Condition by_any_kernel{
    any<has_open_kernel>, "every test case measured has its kernel in its name: leave it out, or name another of them"};
const Condition has_blocks{[](auto&, auto& run) { return run.backend != "host"; },
                           "only kernels of GPUs have blocks and threads: leave it out"};

const Condition pairs_of_devices{any<is_of_pairs>,
                                 "no pairs of devices are measured: leave it out, or name device_to_device_*"};
const Condition pairs_with_themselves{any<linkmatrix::pairs_with_themselves>,
                                      "no copies of pairs, one way and without load, are measured: leave it out, or "
                                      "name such as device_to_device_memcpy_write_ce"};

const Condition gpus_host_memory{
    [](auto& o, auto& run) { return are_gpus(run) && any<is_with_host>(o, run); },
    "no copies between GPUs and host memory are measured: leave it out, or name such as host_to_device_memcpy_ce"};
const Condition huge_pages{[](auto& o, auto& run) {
                             if (are_ranks(run)) return o.axes.memory.value_or(Memory::host) == Memory::host;
                             return !are_gpus(run) || any<is_with_host>(o, run);
                           },
                           "no host memory is measured: leave it out"};

const Condition of_ranks{any<is_of_ranks>, "no ranks are measured: leave it out, or start them with mpirun"};
const Condition has_window{any<has_messages>,
                           "no bandwidth between ranks is measured: leave it out, or name one of rank_to_rank_* or "
                           "node_to_node_* under mpirun"};
const Condition may_be_cold{[](auto& o, auto& run) { return o.measure.warmup > 0 || !are_ranks(run); },
                            "ranks meet before their first sample, to agree on its length: say 1 or more"};
const Condition between_devices{
    any<is_between_devices>, "nothing is measured between devices: leave it out, or name such as device_to_device_*"};
const Condition of_nodes{any<is_of_nodes>,
                         "no pairs of nodes are measured: leave it out, or name node_to_node_* under mpirun"};
const Condition device_memory_of_ranks{
    [](auto& o, auto& run) { return are_ranks(run) && o.axes.memory == Memory::device; },
    "no device memory is sent between ranks: leave it out, or say --memory device under mpirun"};

const Condition has_limits{any<has_limit>,
                           "nothing that a link limits is measured: leave it out, or measure a bandwidth"};
const Condition knows_limits{[](auto& o, auto& run) {
                               const bool ranks_of_devices = are_ranks(run) && o.axes.memory == Memory::device;
                               return are_gpus(run) || ranks_of_devices || !o.plan.limits.empty();
                             },
                             "no limit of these links is known: say it with --limit"};

/// What a device counts is seen without a measurement; what is shared, only where cells run at once.
const Condition drill_acts{
    [](auto& o, auto&) {
      using Kind = SimulatedFault::Kind;
      if (!o.fault || o.fault->kind == Kind::counter) return true;
      if (o.fault->kind == Kind::flip && o.soak <= 0) return false;
      if (o.fault->kind == Kind::corrupt && !o.measure.verify) return false;
      if (o.fault->kind == Kind::shared && o.measure.concurrency == Concurrency::serial) return false;
      return is_measured(o);
    },
    "nothing is measured that could have the fault: leave it out, or measure ('shared': several cells at once; "
    "'corrupt': without --no-verify; 'flip': with --soak)"};

}  // namespace condition

/// The options, and what of the command line they are made from at its end.
struct Given {
  P2pOptions options;
  std::optional<std::string_view> random;  ///< --random-sizes
  int seed = 1;
  int size_options = 0;
};

struct Group {
  std::string_view heading;
  std::vector<Row> rows;
};

/// The table of options: what --help prints, what each does, and where.
std::vector<Group> option_table(Given& given) {
  using namespace condition;
  P2pOptions& o = given.options;
  // not a structured binding: clang lets lambdas have those since 16 only
  auto& random = given.random;
  int &seed = given.seed, &size_options = given.size_options;
  const auto axis = [](auto& slot) {
    return [&slot](std::string_view v) { slot = parse_word<typename std::decay_t<decltype(slot)>::value_type>(v); };
  };
  return {
      {"What is measured",
       {
           {{"--testcase", "NAME[,NAME…]", "run these test cases; a number is nvbandwidth's, as in its -t 0",
             [&](auto v) { o.named = named_testcases(v); }},
            {measures}},
           {{"--suite", "NAME", "run a suite: " + suite_names() + " (default: quick)",
             [&](auto v) { suite(v), o.suite = v; }},
            {measures}},
           {{"--metric", "METRIC", "test cases with this metric: " + all_words<Metric>(), axis(o.axes.metric)},
            {measures}},
           {{"--direction", "DIRECTION", "test cases with this direction: " + all_words<Direction>(),
             axis(o.axes.direction)},
            {measures}},
           {{"--engine", "ENGINE", "test cases with this engine: ce, sm or mpi",
             [&](auto v) { o.axes.engine = parse_engine(v); }},
            {measures}},
           {{"--memory", "MEMORY", "test cases with this memory; of ranks, where their data is: " + all_words<Memory>(),
             axis(o.axes.memory)},
            {chooses_memory, has_open_memory}},
           {{"--peer-access", "on|off", "test cases with or without peer access (default: on)",
             [&](auto v) { o.axes.peer_access = parse_switch("--peer-access", v); }},
            {measures}},
           {{"--devices", "I[,J…]", "only these devices (default: all)", [&](auto v) { o.devices = parse_devices(v); }},
            {runs, of_devices}},
           {{"--topology", "", "print the topology, measure nothing", [&](auto) { o.topology = true; }}, {topology}},
           {{"--backend", "NAME", "cuda, host or mpi (default: mpi under mpirun, cuda where there is a GPU, else host)",
             [&](auto v) { o.backend = v; }},
            {runs}},
       }},
      {"How it is copied",
       {
           {{"--size", "BYTES[,BYTES…]",
             "bytes of one transfer, with KiB MiB GiB (default: 512MiB on GPUs, 128MiB or more host, 1MiB of a "
             "message)",
             [&](auto v) {
               o.sizes = parse_list(v, [](auto b) { return parse_message("--size", b); }), ++size_options;
             }},
            {measures, has_sizes}},
           {{"--sweep", "MIN:MAX[:FACTOR]",
             "sizes from MIN to MAX (default factor: 2); fits t = overhead + bytes / bandwidth",
             [&](auto v) { o.sizes = parse_sweep(v), o.sweep = true, ++size_options; }},
            {measures, has_sizes}},
           {{"--random-sizes", "N:MIN:MAX", "N random sizes between MIN and MAX",
             [&](auto v) { random = v, ++size_options; }},
            {measures, has_sizes}},
           {{"--seed", "N",
             "of --random-sizes (default: 1), the same seed, the same sizes; of --concurrency matchings (default: "
             "drawn)",
             [&](auto v) {
               seed = parse_count("--seed", v, 0, 2147483647), o.measure.seed = static_cast<std::uint32_t>(seed);
             }},
            {measures, draws}},
           {{"--offset", "BYTES", "begin so far into the buffers (default: 0)",
             [&](auto v) { o.plan.offset = v == "0" ? 0 : parse_size("--offset", v); }},
            {measures, has_sizes}},
           {{"--kernel", "KERNEL", "copy kernel of the sm engine: " + all_words<Kernel>() + " (default: noncached)",
             [&](auto v) { o.plan.kernel = parse_word<Kernel>(v); }},
            {measures, copies_by_kernels, by_any_kernel}},
           {{"--blocks", "N[,M…]",
             "thread blocks of the sm engine's kernels (default: the best known); several: each in turn",
             [&](auto v) { o.blocks = parse_list(v, [](auto b) { return parse_count("--blocks", b, 1, 1 << 20); }); }},
            {measures, copies_by_kernels, has_blocks}},
           {{"--threads", "N", "threads of a block, a multiple of 32 (default: the best known)",
             [&](auto v) { o.plan.threads = parse_threads(v); }},
            {measures, copies_by_kernels, has_blocks}},
           {{"--triangle", "", "of pairs, only those above the diagonal", [&](auto) { o.plan.triangle = true; }},
            {measures, pairs_of_devices}},
           {{"--local-copy", "", "of pairs, each device with itself too", [&](auto) { o.plan.local_copy = true; }},
            {measures, condition::pairs_with_themselves}},
           {{"--host-memory", "PAGES",
             "host memory of the GPUs' copies: " + all_words<HostPages>() + " (default: pinned)",
             [&](auto v) { o.plan.host_pages = o.host_memory.pages = parse_word<HostPages>(v); }},
            {measures, gpus_host_memory}},
           {{"--huge-pages", "on|off", "host memory in pages of 2 MiB (default: on)",
             [&](auto v) { o.host_memory.huge = parse_switch("--huge-pages", v); }},
            {measures, condition::huge_pages}},
       }},
      {"Between ranks, under mpirun",
       {
           {{"--window", "N", "messages in flight between two ranks (default: 64)",
             [&](auto v) { o.ranks.window = parse_count("--window", v, 1, 1024); }},
            {measures, has_window}},
           {{"--pairs-per-node", "N",
             "between two nodes at once: pairs of ranks that make one cell of node_to_node_* (default: all), or cells "
             "of "
             "rank_to_rank_* (default: as many as a node has network adapters)",
             [&](auto v) {
               o.ranks.pairs_per_node = static_cast<std::size_t>(parse_count("--pairs-per-node", v, 1, 1024));
             }},
            {measures, of_ranks}},
           {{"--mapping", "MAPPING",
             "of node_to_node_*: " + all_words<ranks::Mapping>() +
                 "; each rank with that of its number, or the next one",
             [&](auto v) { o.ranks.mapping = parse_word<ranks::Mapping>(v); }},
            {measures, of_nodes}},
           {{"--transport", "TRANSPORT",
             "of device memory between ranks: " + all_words<Transport>() +
                 " (default: auto: fd or ipc inside a node, between nodes "
                 "mpi where it is CUDA-aware, else staged)",
             [&](auto v) { o.ranks.transport = parse_word<Transport>(v); }},
            {measures, device_memory_of_ranks}},
       }},
      {"How long, and how well",
       {
           {samples_option(o), {measures}},
           {{"--short-samples", "N",
             "further short samples of each cell, spread over the time of its matrix, to find intermittent links "
             "(default: 0; 66 find a link that loses half of its rate in 10 % of its samples)",
             [&](auto v) { o.measure.short_samples = parse_count("--short-samples", v, 0, 10000); }},
            {measures, takes_second_looks}},
           {target_option(o, "0.25"), {measures}},
           {{"--warmup", "N", "transfers of each cell before its first sample (default: 1); 0: each one is a sample",
             [&](auto v) { o.measure.warmup = parse_count("--warmup", v, 0, 100); }},
            {measures, may_be_cold}},
           {{"--warmup-both-ways", "",
             "before each matrix, copy both ways at once between its devices, by copy engines",
             [&](auto) { o.measure.warm_both_ways = true; }},
            {measures, between_devices}},
           {{"--concurrency", "MODE", "pairs at once: " + all_words<Concurrency>() + " (default: auto, calibrated)",
             [&](auto v) { o.measure.concurrency = parse_word<Concurrency>(v); }},
            {measures}},
           {{"--groups", "FILE",
             "of --concurrency matchings: which nodes share a leaf switch, 'leaf1: n[1-32]' or Slurm's topology.conf",
             [&](auto v) {
               if (v.empty()) throw BadInput("--groups '': name a file");
               o.ranks.groups = v;
             }},
            {measures, confirms}},
           {{"--confirm-after", "SECONDS",
             "of --concurrency matchings: pause before what was found is measured again (default: 10)",
             [&](auto v) { o.measure.confirm_after = parse_number("--confirm-after", v, 0, 86400); }},
            {measures, confirms}},
           {{"--references", "FILE",
             "what cells should be: those that are worse than theirs are measured again, as outliers are; lines of "
             "TESTCASE, NAME, VALUE and UNIT, with tabs between them",
             [&](auto v) {
               if (v.empty()) throw BadInput("--references '': name a file");
               o.references = v;
             }},
            {measures, has_one_size, takes_second_looks}},
           {{"--verify", "", "compare the data that arrived; the default", [&](auto) { o.measure.verify = true; }},
            {measures}},
           {{"--no-verify", "", "do not compare the data that arrived", [&](auto) { o.measure.verify = false; }},
            {measures}},
           {max_time_option(o, "of one matrix"), {measures}},
           {{"--pair-timeout", "SECONDS",
             "of the pairs measured at once; what hangs is marked and the rest goes on (default: 30)",
             [&](auto v) {
               o.measure.cell_timeout = o.ranks.pair_timeout = parse_number("--pair-timeout", v, 0.1, 86400);
             }},
            {measures}},
           {{"--budget", "SECONDS",
             "of the whole run: the most telling test cases first, and those left over are named (--timeout: 30 s "
             "more)",
             [&](auto v) { o.budget = parse_number("--budget", v, 0.001, 86400); }},
            {measures}},
           {{"--soak", "TIME",
             "then again and again for so long, as 90s, 30m or 8h, while the devices are heated: what changed, and "
             "when",
             [&](auto v) { o.soak = parse_duration("--soak", v); }},
            {measures, heats}},
           {timeout_option(o), {runs}},
           {wait_idle_option(o), {measures}},
           {refuse_busy_option(o), {measures}},
           {ignore_processes_option(o), {runs}},
       }},
      {"What is written",
       {
           {record_option(o), {runs}},
           {asked_by_option(o), {runs, keeps_record<P2pOptions, RunScope>}},
           {max_display_option(o), {runs}},
           {{"--utilisation", "", "print each value's share of its path's limit too",
             [&](auto) { o.utilisation = true; }},
            {measures, has_limits, knows_limits}},
           {{"--limit", "CLASS=GBPS[,…]",
             "limits of one direction by link class, in place of the known ones (--limits)",
             [&](auto v) { o.plan.limits = parse_limits(v); }},
            {measures, has_limits}},
       }},
      {"Drills",
       {
           {{"--simulate-fault", "KIND:ENDPOINT",
             "drill: " + simulated_fault_kinds() + " at an endpoint, e.g. slow:gpu1, or 'slow:gpu1->gpu2'",
             [&](auto v) { o.fault = parse_simulated_fault(v); }},
            {runs, drill_acts}},
       }},
      {"What else is printed",
       {
           {print_option(o, "--list", "list the test cases and end", testcase_list), {lists}},
           {{"--format", "FORMAT", "of --list: text or json (default: text)",
             [&](auto v) { o.list_as_json = parse_format(v) == "json"; }},
            {has_format}},
           {print_option(o, "--limits", "print the table of link limits and end", limits_text), {condition::limits}},
           {print_option(o, "--version", "print the version and end",
                         [] { return std::string("linkmatrix p2p_matrix " LINKMATRIX_VERSION "\n"); }),
            {}},
           {print_option(o, "--help", "print this and end", p2p_help), {}},
       }},
  };
}

/// The rows of all groups.
std::vector<Row> all_rows(Given& given) {
  std::vector<Row> rows;
  for (Group& group : option_table(given)) std::ranges::move(group.rows, std::back_inserter(rows));
  return rows;
}

void refuse_contradictions(const P2pOptions& o) {
  Axes axes = o.axes;
  if (!o.named.empty() || o.suite) axes.memory.reset();  // of ranks: where their data is
  const int ways = !o.named.empty() + o.suite.has_value() + axes.any();
  if (o.plan.host_pages == HostPages::pageable && (!o.blocks.empty() || o.plan.threads > 0))
    throw BadInput(
        "--blocks and --threads shape kernels, which do not reach pageable memory: use --host-memory pinned");
  if (o.sweep && o.blocks.size() > 1) throw BadInput("--sweep varies the size: name one number of --blocks with it");
  if (o.soak > 0 && o.budget) throw BadInput("--soak measures for as long as it says: leave out --budget");
  if (ways > 1) throw BadInput("say which test cases in one way: --testcase, --suite, or axes such as --engine");
}

/// What is not said of limits follows from the budget or the soak: a run ends soon after it, whatever hangs.
void set_limits(P2pOptions& o) {
  if (o.soak > 0 && !o.is_given("--timeout")) o.timeout += o.soak;
  if (!o.budget) return;
  if (!o.is_given("--max-time")) o.measure.max_seconds = std::min(o.measure.max_seconds, *o.budget);
  if (!o.is_given("--timeout")) o.timeout = *o.budget + time_beyond_budget;
}

}  // namespace

P2pOptions parse_p2p_options(std::span<char* const> arguments) {
  Given given;
  for (const char* argument : arguments) given.options.command.emplace_back(argument);
  given.options.given = parse_command_line(arguments.subspan(1), options_of(all_rows(given)));
  if (given.size_options > 1) throw BadInput("say the sizes in one way: --size, --sweep or --random-sizes");
  if (given.random) given.options.sizes = parse_random(*given.random, given.seed);
  refuse_contradictions(given.options);
  set_limits(given.options);
  if (given.options.print != nullptr) refuse_unused(given.options, RunScope{});
  if (given.options.list_as_json && given.options.print == testcase_list) given.options.print = testcases_json;
  return given.options;
}

void refuse_unused(const P2pOptions& options, const RunScope& run) {
  const bool is_table = options.print == testcase_list || options.print == limits_text;
  if (options.print != nullptr && !is_table) return;  // --help and --version go with any other option
  Given unused;
  refuse_unused(all_rows(unused), options, run);
}

std::string p2p_help() {
  Given unused;
  std::string options;
  for (const auto& [heading, rows] : option_table(unused))
    options += "\n" + std::string(heading) + "\n" + options_text(options_of(rows));
  return "p2p_matrix measures every link between the devices of a node as a matrix: rows are sources,\n"
         "columns destinations, bandwidth in GB/s (1e9 bytes/s), latency in µs. Without options it runs the\n"
         "suite 'quick'. What does nothing in a run is refused.\n" +
         options +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device or MPI error,\n"
         "4 timed out (what was measured is in the record).\n";
}

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

Engine parse_engine(std::string_view text) {
  for (const Engine engine : {Engine::ce, Engine::sm, Engine::mpi})
    if (text == word(engine)) return engine;
  throw BadInput("unknown engine '" + std::string(text) + "': use ce, sm or mpi");
}

int parse_threads(std::string_view text) {
  const int threads = parse_count("--threads", text, 32, 1024);
  if (threads % 32 != 0) throw BadInput("--threads '" + std::string(text) + "': use a multiple of 32, up to 1024");
  return threads;
}

double parse_duration(std::string_view option, std::string_view text) {
  constexpr double longest = 7 * 86400;
  double seconds = 1;
  for (const auto& [letter, each] : {std::pair{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}})
    if (text.ends_with(letter)) seconds = each;
  const bool has_unit = !text.empty() && std::string_view("smh").find(text.back()) != std::string_view::npos;
  return seconds *
         parse_number(option, has_unit ? text.substr(0, text.size() - 1) : text, 0.001 / seconds, longest / seconds);
}

}  // namespace linkmatrix
