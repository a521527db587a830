#include "p2p/options.hpp"

#include <algorithm>

#include "core/command_line.hpp"
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

bool parse_switch(std::string_view option, std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw BadInput(std::string(option) + " '" + std::string(text) + "': use on or off");
}

/// The table of options: what --help prints and what each does.
std::vector<Option> option_table(P2pOptions& o) {
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
      {"--memory", "MEMORY", "test cases with this memory: " + all_words<Memory>(), axis(o.axes.memory)},
      {"--peer-access", "on|off", "test cases with or without peer access (default: on)",
       [&](auto v) { o.axes.peer_access = parse_switch("--peer-access", v); }},
      {"--kernel", "KERNEL", "copy kernel of the sm engine: " + all_words<Kernel>() + " (default: noncached)",
       [&](auto v) { o.kernel = parse_word<Kernel>(v); }},
      {"--devices", "I[,J…]", "only these devices (default: all)", [&](auto v) { o.devices = parse_devices(v); }},
      {"--size", "BYTES", "bytes of one transfer, with KiB MiB GiB (default: 512MiB on GPUs, 128MiB host, 64MiB MPI)",
       [&](auto v) { o.bytes = parse_size("--size", v); }},
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
      {"--no-verify", "", "do not compare the data that arrived", [&](auto) { o.measure.verify = false; }},
      {"--concurrency", "MODE", "pairs at once: " + all_words<Concurrency>() + " (default: auto, calibrated)",
       [&](auto v) { o.measure.concurrency = parse_word<Concurrency>(v); }},
      {"--max-display", "N", "print at most N rows and columns (default: 16)",
       [&](auto v) { o.max_display = static_cast<std::size_t>(parse_count("--max-display", v, 1, 100000)); }},
      {"--record", "FILE", "write everything as JSON, schema linkmatrix.record/1", [&](auto v) { o.record = v; }},
      {"--timeout", "SECONDS", "of the whole run; what was measured by then is kept (default: 600)",
       [&](auto v) { o.timeout = parse_number("--timeout", v, 0.001, 604800); }},
      {"--backend", "NAME", "cuda, host or mpi (default: mpi under mpirun, cuda where there is a GPU, else host)",
       [&](auto v) { o.backend = v; }},
      {"--simulate-fault", "KIND:ENDPOINT", "drill: error, corrupt, hang or slow at an endpoint, e.g. slow:gpu1",
       [&](auto v) { o.fault = parse_simulated_fault(v); }},
      {"--limits", "", "print the table of link limits and end", action(Action::limits)},
      {"--version", "", "print the version and end", action(Action::version)},
      {"--help", "", "print this and end", action(Action::help)},
  };
}

void refuse_contradictions(const P2pOptions& o) {
  const int ways = !o.named.empty() + o.suite.has_value() + o.axes.any();
  if (ways > 1) throw BadInput("say which test cases in one way: --testcase, --suite, or axes such as --engine");
}

}  // namespace

P2pOptions parse_p2p_options(std::span<char* const> arguments) {
  P2pOptions options;
  for (const char* argument : arguments) options.command.emplace_back(argument);
  parse_command_line(arguments.subspan(1), option_table(options));
  refuse_contradictions(options);
  return options;
}

std::string p2p_help() {
  P2pOptions unused;
  return "p2p_matrix measures every link between the devices of a node as a matrix: rows are sources, columns\n"
         "destinations, bandwidth in GB/s (1e9 bytes/s), latency in µs. Without options it runs the suite 'quick'.\n\n"
         "Options:\n" +
         options_text(option_table(unused)) +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device or MPI error,\n"
         "4 timed out (what was measured is in the record).\n";
}

}  // namespace linkmatrix
