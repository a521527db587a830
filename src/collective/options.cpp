#include "collective/options.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/units.hpp"
#include "program/option_rows.hpp"
#include "program/program_main.hpp"

namespace linkmatrix {
namespace {

/// Default target. Larger than for copies, because launches and the scheduling of ranks add noise.
constexpr double default_target = 0.01;
/// Time limit of a noisy cell in seconds. Short, because a suite has hundreds of cells.
constexpr double default_patience = 0.1;

using Condition = OptionCondition<CollectiveOptions, CollectiveScope>;
using Row = OptionRow<CollectiveOptions, CollectiveScope>;

constexpr Condition of_devices{[](auto&, auto& run) { return !run.has_ranks; },
                               "the launcher chooses the ranks: start fewer ranks with mpirun -n"};
constexpr Condition of_ranks{[](auto&, auto& run) { return run.has_ranks; },
                             "the option needs MPI ranks: start the program with mpirun"};
constexpr Condition of_nccl{[](auto&, auto& run) { return run.memory == Memory::device; },
                            "only NCCL has this option: omit the option, or add --memory device"};
constexpr Condition of_host{[](auto&, auto& run) { return run.memory == Memory::host; },
                            "no host memory is measured: omit the option"};
constexpr Condition reduction{[](auto&, auto& run) { return run.any_reduces; },
                              "no selected test case has a reduction: omit the option, or choose e.g. all_reduce_perf"};
constexpr Condition root{[](auto&, auto& run) { return run.any_has_root; },
                         "no selected test case has a root rank: omit the option, or choose e.g. broadcast_perf"};

void choose_launch(CollectiveCase& form, Launch launch) {
  if (form.launch != Launch::queued && form.launch != launch)
    throw BadInput("--graph and --blocking exclude each other: a graph launches all repeats together; use one of them");
  form.launch = launch;
}

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  return parse_list("--size", text, "size", [](const std::string& part) { return parse_size("--size", part); });
}

std::vector<Row> option_table(CollectiveOptions& o, int& ways_of_size) {
  return {
      {{"--testcase", "NAME[,NAME…]", "run these test cases", [&](auto v) { o.named = named_collectives(v); }}},
      {{"--suite", "NAME", "run all test cases of a suite: quick or full (default: quick)",
        [&](auto v) { collective_suite(v), o.suite = v; }}},
      {{"--size", "BYTES[,BYTES…]",
        "size of a rank's larger buffer, with unit KiB, MiB or GiB (default: 1KiB to 1GiB in factors of 4; host "
        "memory: 1KiB to 16MiB)",
        [&](auto v) { o.sizes = parse_sizes(v), ++ways_of_size; }}},
      {{"--sweep", "MIN:MAX[:FACTOR]", "measure sizes from MIN to MAX (default factor: 2)",
        [&](auto v) { o.sizes = parse_sweep(v), ++ways_of_size; }}},
      {{"--type", "TYPE", "type of an element: " + all_words<ElementType>() + " (default: float)",
        [&](auto v) { o.form.type = parse_word<ElementType>(v); }}},
      {{"--reduction", "REDUCTION", "reduction: " + all_words<Reduction>() + " (default: sum)",
        [&](auto v) { o.form.reduction = parse_word<Reduction>(v); }},
       {reduction}},
      {{"--root", "RANK", "root rank (default: 0)",
        [&](auto v) { o.form.root = parse_count("--root", v, 0, 1 << 20); }},
       {root}},
      {{"--graph", "", "launch all repeats of a sample as one CUDA graph",
        [&](auto) { choose_launch(o.form, Launch::graph); }},
       {of_nccl}},
      {{"--blocking", "",
        "wait for each collective before the next one; the time then includes launches and waits of the host",
        [&](auto) { choose_launch(o.form, Launch::blocking); }},
       {of_nccl}},
      {{"--devices", "I[,J…]", "measure only these devices (default: all)",
        [&](auto v) { o.devices = parse_devices(v); }},
       {of_devices}},
      {{"--memory", "MEMORY", "memory of ranks: device (NCCL) or host (MPI) (default: host)",
        [&](auto v) { o.memory = parse_word<Memory>(v); }},
       {of_ranks}},
      {{"--huge-pages", "on|off", "use pages of 2 MiB for host memory (default: on; OSU's benchmarks use small pages)",
        [&](auto v) { o.huge_pages = parse_switch("--huge-pages", v); }},
       {of_host}},
      {samples_option(o)},
      {target_option(o, "1")},
      {{"--warmup", "N", "number of collectives before the first sample (default: 1)",
        [&](auto v) { o.measure.warmup = parse_count("--warmup", v, 1, 100); }}},
      {{"--no-verify", "", "do not compare the data that arrived", [&](auto) { o.measure.verify = false; }}},
      {max_time_option(o, "of one size")},
      {{"--collective-timeout", "SECONDS", "time limit of one cell; the run ends after a cell that hangs (default: 30)",
        [&](auto v) { o.measure.cell_timeout = parse_number("--collective-timeout", v, 0.1, 86400); }}},
      {timeout_option(o)},
      {wait_idle_option(o)},
      {refuse_busy_option(o)},
      {ignore_processes_option(o)},
      {record_option(o)},
      {asked_by_option(o), {keeps_record<CollectiveOptions, CollectiveScope>}},
      {max_display_option(o)},
      {timing_option(o)},
      {{"--simulate-fault", "KIND:RANK",
        "simulate a fault: " + simulated_fault_kinds(true) +
            " at a rank, e.g. corrupt:gpu1, or corrupt=7:gpu1 (every 7th sample)",
        [&](auto v) { o.fault = parse_simulated_fault(v); }},
       {fault_has_effect<CollectiveOptions, CollectiveScope>}},
      {print_option(o, "--list", "list the test cases and exit", collective_list)},
      {print_option(o, "--version", "print the version and exit",
                    [] { return std::string("linkmatrix collective_perf " LINKMATRIX_VERSION "\n"); })},
      {print_option(o, "--help", "print this help and exit", collective_help)},
  };
}

}  // namespace

CollectiveOptions parse_collective_options(std::span<char* const> arguments) {
  CollectiveOptions o;
  int ways_of_size = 0;
  o.measure.stop.target = default_target;
  o.measure.stop.patience = default_patience;
  if (started_by_mpirun()) o.memory = Memory::host;
  for (const char* argument : arguments) o.command.emplace_back(argument);
  o.given = parse_command_line(arguments.subspan(1), options_of(option_table(o, ways_of_size)));
  if (ways_of_size > 1) throw BadInput("sizes are given twice: use either --size or --sweep");
  if (!o.named.empty() && o.suite) throw BadInput("test cases are selected twice: use either --testcase or --suite");
  return o;
}

void refuse_unused(const CollectiveOptions& options, const CollectiveScope& run) {
  CollectiveOptions unused;
  int ways_of_size = 0;
  refuse_unused(option_table(unused, ways_of_size), options, run);
}

std::string collective_help() {
  CollectiveOptions unused;
  int ways_of_size = 0;
  return "collective_perf measures time and bandwidth of collectives, and verifies every received element.\nWithout "
         "mpirun, it measures NCCL between the GPUs of one process. Under mpirun, it measures MPI between the\nhost "
         "memory of all ranks, or NCCL between their GPUs (--memory device). Algorithm and bus bandwidth are\ndefined "
         "as "
         "in nccl-tests. An option that has no effect in a run is an error.\nExample: collective_perf --testcase "
         "all_reduce_perf --size 1GiB "
         "--record all_reduce.json\n\n" +
         options_text(options_of(option_table(unused, ways_of_size))) +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device, NCCL or MPI error,\n"
         "4 timed out (the record contains the results measured before).\n";
}

}  // namespace linkmatrix
