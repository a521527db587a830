#include "nbody/options.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"
#include "program/option_rows.hpp"

namespace linkmatrix {
namespace {

constexpr int most_bodies = 100'000'000;
constexpr int most_devices = 1 << 20;
/// Default target. Larger than for copies, because devices wait for each other in every step.
constexpr double default_target = 0.01;
constexpr double default_patience = 0.1;
/// Default time limit per number of bodies. Seven steps of one million bodies on 1, 2, 4 and 8 GPUs take 15 s in total
/// at 19.5 TFLOP/s per GPU, the peak of an A100 in single precision.
constexpr double default_max_seconds = 30;
constexpr double default_cell_timeout = 120;

using Condition = OptionCondition<NbodyOptions, bool>;  // bool: whether the run has ranks
using Row = OptionRow<NbodyOptions, bool>;

constexpr Condition of_one_process{[](auto&, auto& ranks) { return !ranks; },
                                   "the launcher chooses the ranks: start fewer ranks with mpirun -n"};
constexpr Condition of_ranks{[](auto&, auto& ranks) { return ranks; },
                             "the option needs MPI ranks: start the program with mpirun, or use --backend"};

template <class E>
std::vector<E> parse_words(std::string_view option, std::string_view text) {
  return parse_list(option, text, "value", parse_word<E>);
}

/// Returns whole numbers from 1 to `most`, sorted.
template <class N>
std::vector<N> parse_numbers(std::string_view option, std::string_view text, int most) {
  auto numbers = parse_list(option, text, "value", [&](const std::string& part) {
    return static_cast<N>(parse_count(option, part, 1, most));
  });
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::uint64_t> parse_bodies_sweep(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3)
    throw BadInput("--sweep '" + std::string(text) + "': use MIN:MAX or MIN:MAX:FACTOR, such as 10000:4000000:4");
  const int low = parse_count("--sweep", parts[0], 1, most_bodies),
            high = parse_count("--sweep", parts[1], 1, most_bodies);
  if (low > high)
    throw BadInput("--sweep starts at " + parts[0] + " and ends at " + parts[1] + ": give the smaller number first");
  const double factor = parts.size() == 3 ? parse_number("--sweep", parts[2], 1.01, 1024) : 2;
  return sweep_sizes(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high), factor);
}

std::vector<Row> option_table(NbodyOptions& o, int& ways_of_bodies) {
  return {
      {{"--bodies", "N[,N…]",
        "number of bodies; with weak scaling, per device (default: 16384 to 1048576 on GPUs, 2048 to 32768 on cores, "
        "in factors of 4)",
        [&](auto v) { o.bodies = parse_numbers<std::uint64_t>("--bodies", v, most_bodies), ++ways_of_bodies; }}},
      {{"--sweep", "MIN:MAX[:FACTOR]", "measure numbers of bodies from MIN to MAX (default factor: 2)",
        [&](auto v) { o.bodies = parse_bodies_sweep(v), ++ways_of_bodies; }}},
      {{"--testcase", "NAME[,NAME…]",
        "run these test cases, e.g. " + nbody_series().front().name() + "; --list shows all",
        [&](auto v) { o.named = named_series(v); }}},
      {{"--precision", "TYPE[,TYPE]", "number format: " + all_words<Precision>() + ", or both (default: float)",
        [&](auto v) { o.precisions = parse_words<Precision>("--precision", v); }}},
      {{"--scaling", "SCALING[,SCALING]",
        "strong: the same number of bodies in total; weak: the same number per device (default: strong)",
        [&](auto v) { o.scalings = parse_words<Scaling>("--scaling", v); }}},
      {{"--counts", "N[,N…]",
        "numbers of devices (default: 1, 2, 4 … and all); efficiency is relative to the smallest number",
        [&](auto v) { o.counts = parse_numbers<int>("--counts", v, most_devices); }}},
      {{"--devices", "I[,J…]", "use only these devices, in this order (default: all)",
        [&](auto v) { o.devices = parse_devices(v); }},
       {of_one_process}},
      {{"--backend", "BACKEND",
        all_words<NbodyOptions::On>() + " (default: auto: GPUs if the node has any, else cores)",
        [&](auto v) { o.on = parse_word<NbodyOptions::On>(v); }},
       {of_one_process}},
      {{"--memory", "MEMORY", "memory of ranks: device (one GPU per rank) or host (one core per rank) (default: host)",
        [&](auto v) { o.memory = parse_word<Memory>(v); }},
       {of_ranks}},
      {{"--steps", "N", "time steps per sample (default: as many as fit into 20 ms)",
        [&](auto v) { o.steps = parse_count("--steps", v, 1, 100000); }}},
      {samples_option(o)},
      {target_option(o, "1")},
      {{"--no-verify", "", "do not compare forces and positions", [&](auto) { o.measure.verify = false; }}},
      {max_time_option(o, "of one number of bodies", "30")},
      {{"--cell-timeout", "SECONDS", "time limit per number of bodies and number of devices (default: 120)",
        [&](auto v) { o.measure.cell_timeout = parse_number("--cell-timeout", v, 0.1, 86400); }}},
      {timeout_option(o)},
      {wait_idle_option(o)},
      {refuse_busy_option(o)},
      {ignore_processes_option(o)},
      {record_option(o)},
      {asked_by_option(o), {keeps_record<NbodyOptions, bool>}},
      {max_display_option(o)},
      {timing_option(o)},
      {{"--simulate-fault", "KIND:DEVICE",
        "simulate a fault: " + simulated_fault_kinds(true) + " at a device, e.g. corrupt:gpu1",
        [&](auto v) { o.fault = parse_simulated_fault(v); }},
       {fault_has_effect<NbodyOptions, bool>}},
      {print_option(o, "--list", "list the test cases and exit", nbody_list)},
      {print_option(o, "--version", "print the version and exit",
                    [] { return std::string("linkmatrix nbody_scaling " LINKMATRIX_VERSION "\n"); })},
      {print_option(o, "--help", "print this help and exit", nbody_help)},
  };
}

}  // namespace

std::vector<NbodySeries> NbodyOptions::series() const {
  if (!named.empty()) return named;
  std::vector<NbodySeries> all;
  for (const Precision precision : precisions)
    for (const Scaling scaling : scalings) all.push_back({precision, scaling});
  return all;
}

NbodyOptions parse_nbody_options(std::span<char* const> arguments) {
  NbodyOptions o;
  int ways_of_bodies = 0;
  o.measure.stop.target = default_target;
  o.measure.stop.patience = default_patience;
  o.measure.max_seconds = default_max_seconds;
  o.measure.cell_timeout = default_cell_timeout;
  for (const char* argument : arguments) o.command.emplace_back(argument);
  o.given = parse_command_line(arguments.subspan(1), options_of(option_table(o, ways_of_bodies)));
  if (ways_of_bodies > 1) throw BadInput("bodies are given twice: use either --bodies or --sweep");
  if (o.is_given("--testcase") && (o.is_given("--precision") || o.is_given("--scaling")))
    throw BadInput("test cases are selected twice: use either --testcase, or --precision and --scaling");
  return o;
}

void refuse_unused(const NbodyOptions& options, bool has_ranks) {
  NbodyOptions unused;
  int ways_of_bodies = 0;
  refuse_unused(option_table(unused, ways_of_bodies), options, has_ranks);
}

std::string nbody_help() {
  NbodyOptions unused;
  int ways_of_bodies = 0;
  return "nbody_scaling measures strong and weak scaling with an N-body simulation in which each body attracts "
         "every\nother body. The simulation runs on 1, 2, 4 … devices of this process or, under mpirun, on ranks. The "
         "program\nverifies forces, momentum, energy and exchanged positions. An option that has no effect in a run is "
         "an error.\nExample: nbody_scaling --bodies 1000000 --scaling strong,weak --record scaling.json\n\n" +
         options_text(options_of(option_table(unused, ways_of_bodies))) +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device or MPI error,\n"
         "4 timed out (the record contains the results measured before).\n";
}

}  // namespace linkmatrix
