#include "collective/options.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/units.hpp"
#include "program/option_rows.hpp"
#include "program/program_main.hpp"

namespace linkmatrix {
namespace {

/// Launches and the turns of ranks vary by more than copies do.
constexpr double default_target = 0.01;
/// Seconds that a noisy cell may take beyond its seven samples: a suite has hundreds of cells, and more samples make
/// ranks that share cores no quieter.
constexpr double default_patience = 0.1;

using Condition = OptionCondition<CollectiveOptions, CollectiveScope>;
using Row = OptionRow<CollectiveOptions, CollectiveScope>;

constexpr Condition of_devices{[](auto&, auto& run) { return !run.has_ranks; },
                               "the launcher chooses the ranks: start fewer with mpirun -n"};
constexpr Condition of_ranks{[](auto&, auto& run) { return run.has_ranks; },
                             "one process has its devices: start ranks with mpirun"};
constexpr Condition of_nccl{[](auto&, auto& run) { return run.memory == Memory::device; },
                            "MPI between host memory has no such choice: leave it out"};
constexpr Condition of_host{[](auto&, auto& run) { return run.memory == Memory::host; },
                            "no host memory is measured: leave it out"};
constexpr Condition reduction{[](auto&, auto& run) { return run.any_reduces; },
                              "nothing that is measured reduces: leave it out, or measure such as all_reduce_perf"};
constexpr Condition root{[](auto&, auto& run) { return run.any_has_root; },
                         "nothing that is measured has a root: leave it out, or measure such as broadcast_perf"};

void choose_launch(CollectiveCase& form, Launch launch) {
  if (form.launch != Launch::queued && form.launch != launch)
    throw BadInput("say one of --graph and --blocking: what is launched as a whole is not waited for one by one");
  form.launch = launch;
}

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const std::uint64_t size = parse_size("--size", part);
    if (std::ranges::find(sizes, size) != sizes.end())
      throw BadInput("--size '" + std::string(text) + "' names " + part + " twice: name each once");
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<Row> option_table(CollectiveOptions& o, int& ways_of_size) {
  return {
      {{"--testcase", "NAME[,NAME…]", "run these test cases", [&](auto v) { o.named = named_collectives(v); }}},
      {{"--suite", "NAME", "run a suite: quick or full (default: quick)",
        [&](auto v) { collective_suite(v), o.suite = v; }}},
      {{"--size", "BYTES[,BYTES…]",
        "of the larger buffer of a rank, with KiB MiB GiB (default: 1 KiB to 1 GiB, of host "
        "memory to 16 MiB, by fours)",
        [&](auto v) { o.sizes = parse_sizes(v), ++ways_of_size; }}},
      {{"--sweep", "MIN:MAX[:FACTOR]", "sizes from MIN to MAX (default factor: 2)",
        [&](auto v) { o.sizes = parse_sweep(v), ++ways_of_size; }}},
      {{"--type", "TYPE", "of an element: " + all_words<ElementType>() + " (default: float)",
        [&](auto v) { o.form.type = parse_word<ElementType>(v); }}},
      {{"--reduction", "REDUCTION", all_words<Reduction>() + " (default: sum)",
        [&](auto v) { o.form.reduction = parse_word<Reduction>(v); }},
       {reduction}},
      {{"--root", "RANK", "of what has one (default: 0)",
        [&](auto v) { o.form.root = parse_count("--root", v, 0, 1 << 20); }},
       {root}},
      {{"--graph", "", "launch all repeats of a sample as one CUDA graph",
        [&](auto) { choose_launch(o.form, Launch::graph); }},
       {of_nccl}},
      {{"--blocking", "", "wait for each collective before the next: the host's time, its launches and waits with it",
        [&](auto) { choose_launch(o.form, Launch::blocking); }},
       {of_nccl}},
      {{"--devices", "I[,J…]", "only these devices (default: all)", [&](auto v) { o.devices = parse_devices(v); }},
       {of_devices}},
      {{"--memory", "MEMORY", "of ranks: device, by NCCL, or host, by MPI (default: host)",
        [&](auto v) { o.memory = parse_word<Memory>(v); }},
       {of_ranks}},
      {{"--huge-pages", "on|off", "host memory in pages of 2 MiB (default: on; OSU's benchmarks have small ones)",
        [&](auto v) { o.huge_pages = parse_switch("--huge-pages", v); }},
       {of_host}},
      {samples_option(o)},
      {target_option(o, "1")},
      {{"--warmup", "N", "collectives before the first sample (default: 1)",
        [&](auto v) { o.measure.warmup = parse_count("--warmup", v, 1, 100); }}},
      {{"--no-verify", "", "do not compare what arrived", [&](auto) { o.measure.verify = false; }}},
      {max_time_option(o, "of one size")},
      {{"--collective-timeout", "SECONDS", "of one cell; after one that hangs no other can begin (default: 30)",
        [&](auto v) { o.measure.cell_timeout = parse_number("--collective-timeout", v, 0.1, 86400); }}},
      {timeout_option(o)},
      {wait_idle_option(o)},
      {refuse_busy_option(o)},
      {ignore_processes_option(o)},
      {record_option(o)},
      {asked_by_option(o), {keeps_record<CollectiveOptions, CollectiveScope>}},
      {max_display_option(o)},
      {{"--simulate-fault", "KIND:RANK",
        "drill: " + simulated_fault_kinds(true) + " at a rank, e.g. corrupt:gpu1, or corrupt=7:gpu1 (every 7th sample)",
        [&](auto v) { o.fault = parse_simulated_fault(v); }},
       {drill_acts<CollectiveOptions, CollectiveScope>}},
      {print_option(o, "--list", "list the test cases and end", collective_list)},
      {print_option(o, "--version", "print the version and end",
                    [] { return std::string("linkmatrix collective_perf " LINKMATRIX_VERSION "\n"); })},
      {print_option(o, "--help", "print this and end", collective_help)},
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
  if (ways_of_size > 1) throw BadInput("say the sizes in one way: --size or --sweep");
  if (!o.named.empty() && o.suite) throw BadInput("say which test cases in one way: --testcase or --suite");
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
  return "collective_perf measures what all ranks do together: NCCL between the GPUs of this process or, under\n"
         "mpirun, of all ranks (--memory device); MPI between the host memory of ranks. Time, algorithm and bus\n"
         "bandwidth are those of nccl-tests; every element that arrives is compared. What does nothing in a run is\n"
         "refused.\n\n" +
         options_text(options_of(option_table(unused, ways_of_size))) +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device, NCCL or MPI error,\n"
         "4 timed out (what was measured is in the record).\n";
}

}  // namespace linkmatrix
