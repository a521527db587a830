#include "p2p/options.hpp"

#include <algorithm>
#include <utility>

#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/limits.hpp"
#include "core/units.hpp"
#include "p2p/option_conditions.hpp"
#include "program/option_rows.hpp"

namespace linkmatrix {
namespace {

using Row = OptionRow<P2pOptions, RunScope>;

std::string_view parse_format(std::string_view text) {
  if (text != "text" && text != "json") throw BadInput("--format '" + std::string(text) + "': use text or json");
  return text;
}

/// Parses "A,B,C" with `parse` for each part.
template <class Parse>
auto parse_list(std::string_view text, const Parse& parse) {
  std::vector<decltype(parse(text))> out;
  for (const std::string& part : split(text, ',')) out.push_back(parse(part));
  return out;
}

/// The options, and texts that are parsed after the last option.
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

/// Option tables: texts of --help, parsers, and conditions.
std::vector<Group> option_table(Given& given) {
  using namespace condition;
  P2pOptions& o = given.options;
  // no structured binding, because lambdas cannot capture it before clang 16
  auto& random = given.random;
  int &seed = given.seed, &size_options = given.size_options;
  const auto axis = [](auto& slot) {
    return [&slot](std::string_view v) { slot = parse_word<typename std::decay_t<decltype(slot)>::value_type>(v); };
  };
  return {
      {"Test cases and devices",
       {
           {{"--testcase", "NAME[,NAME…]", "run these test cases, by name or by nvbandwidth number (its -t option)",
             [&](auto v) { o.named = named_testcases(v); }},
            {measures}},
           {{"--suite", "NAME", "run all test cases of a suite: " + suite_names() + " (default: quick)",
             [&](auto v) { suite(v), o.suite = v; }},
            {measures}},
           {{"--metric", "METRIC", "select test cases by metric: " + all_words<Metric>(), axis(o.axes.metric)},
            {measures}},
           {{"--direction", "DIRECTION", "select test cases by direction: " + all_words<Direction>(),
             axis(o.axes.direction)},
            {measures}},
           {{"--engine", "ENGINE", "select test cases by engine: ce, sm or mpi",
             [&](auto v) { o.axes.engine = parse_engine(v); }},
            {measures}},
           {{"--memory", "MEMORY",
             "select test cases by memory; under mpirun, the memory that contains the messages: " + all_words<Memory>(),
             axis(o.axes.memory)},
            {chooses_memory, has_open_memory}},
           {{"--peer-access", "on|off", "select test cases with or without peer access (default: on)",
             [&](auto v) { o.axes.peer_access = parse_switch("--peer-access", v); }},
            {measures}},
           {{"--devices", "I[,J…]", "measure only these devices (default: all)",
             [&](auto v) { o.devices = parse_devices(v); }},
            {runs, of_devices}},
           {{"--topology", "", "print the topology and exit", [&](auto) { o.topology = true; }}, {topology}},
           {{"--backend", "NAME",
             "cuda, host or mpi (default: mpi under mpirun, cuda if the node has a GPU, else host)",
             [&](auto v) { o.backend = v; }},
            {runs}},
       }},
      {"Transfers",
       {
           {{"--size", "BYTES[,BYTES…]",
             "size of one transfer, with unit KiB, MiB or GiB (default: 512MiB for GPUs, at least 128MiB for host "
             "memory, 1MiB for messages)",
             [&](auto v) {
               o.sizes = parse_list(v, [](auto b) { return parse_message("--size", b); }), ++size_options;
             }},
            {measures, has_sizes}},
           {{"--sweep", "MIN:MAX[:FACTOR]",
             "measure sizes from MIN to MAX (default factor: 2) and fit t = overhead + bytes / bandwidth",
             [&](auto v) { o.sizes = parse_sweep(v), o.sweep = true, ++size_options; }},
            {measures, has_sizes}},
           {{"--random-sizes", "N:MIN:MAX", "measure N random sizes between MIN and MAX",
             [&](auto v) { random = v, ++size_options; }},
            {measures, has_sizes}},
           {{"--seed", "N",
             "random seed of --random-sizes (default: 1) and --concurrency matchings (default: random); the same seed "
             "repeats a run",
             [&](auto v) {
               seed = parse_count("--seed", v, 0, 2147483647), o.measure.seed = static_cast<std::uint32_t>(seed);
             }},
            {measures, draws}},
           {{"--offset", "BYTES", "offset of the data in the buffers (default: 0)",
             [&](auto v) { o.plan.offset = v == "0" ? 0 : parse_size("--offset", v); }},
            {measures, has_sizes}},
           {{"--kernel", "KERNEL", "copy kernel of engine sm: " + all_words<Kernel>() + " (default: noncached)",
             [&](auto v) { o.plan.kernel = parse_word<Kernel>(v); }},
            {measures, copies_by_kernels, by_any_kernel}},
           {{"--blocks", "N[,M…]",
             "number of thread blocks of the copy kernel (default: tuned); several numbers are measured in turn",
             [&](auto v) { o.blocks = parse_list(v, [](auto b) { return parse_count("--blocks", b, 1, 1 << 20); }); }},
            {measures, copies_by_kernels, has_blocks}},
           {{"--threads", "N", "number of threads per block, a multiple of 32 (default: tuned)",
             [&](auto v) { o.plan.threads = parse_threads(v); }},
            {measures, copies_by_kernels, has_blocks}},
           {{"--triangle", "", "measure only the pairs above the diagonal", [&](auto) { o.plan.triangle = true; }},
            {measures, pairs_of_devices}},
           {{"--local-copy", "", "also measure copies inside each device", [&](auto) { o.plan.local_copy = true; }},
            {measures, condition::pairs_with_themselves}},
           {{"--host-memory", "PAGES",
             "host memory of copies to and from GPUs: " + all_words<HostPages>() + " (default: pinned)",
             [&](auto v) { o.plan.host_pages = o.host_memory.pages = parse_word<HostPages>(v); }},
            {measures, gpus_host_memory}},
           {{"--huge-pages", "on|off", "use pages of 2 MiB for host memory (default: on)",
             [&](auto v) { o.host_memory.huge = parse_switch("--huge-pages", v); }},
            {measures, condition::huge_pages}},
       }},
      {"Ranks (under mpirun)",
       {
           {{"--window", "N", "number of messages in flight between two ranks (default: 64)",
             [&](auto v) { o.ranks.window = parse_count("--window", v, 1, 1024); }},
            {measures, has_window}},
           {{"--pairs-per-node", "N",
             "number of rank pairs that communicate concurrently between two nodes (default: node_to_node_*: all; "
             "rank_to_rank_*: one per network adapter)",
             [&](auto v) {
               o.ranks.pairs_per_node = static_cast<std::size_t>(parse_count("--pairs-per-node", v, 1, 1024));
             }},
            {measures, of_ranks}},
           {{"--mapping", "MAPPING",
             "rank pairs of node_to_node_*: " + all_words<ranks::Mapping>() +
                 " (same rank number, or the next rank number)",
             [&](auto v) { o.ranks.mapping = parse_word<ranks::Mapping>(v); }},
            {measures, of_nodes}},
           {{"--transport", "TRANSPORT",
             "transport of device memory between ranks: " + all_words<Transport>() +
                 " (default: auto: fd or ipc inside a node; between nodes mpi if MPI is CUDA-aware, else staged)",
             [&](auto v) { o.ranks.transport = parse_word<Transport>(v); }},
            {measures, device_memory_of_ranks}},
       }},
      {"Sampling, verification and time limits",
       {
           {samples_option(o), {measures}},
           {{"--short-samples", "N",
             "additional short samples per cell, spread over the duration of the matrix, to find intermittent links "
             "(default: 0; 66 samples find a link that is half as fast 10 % of the time)",
             [&](auto v) { o.measure.short_samples = parse_count("--short-samples", v, 0, 10000); }},
            {measures, remeasures_outliers}},
           {target_option(o,
                          "0.25; latencies and networks: 1, host memory: 2.5, memory of CPUs and ranks on one node: 3"),
            {measures}},
           {{"--warmup", "N",
             "transfers per cell before the first sample (default: 1); 0: the first transfer is a sample",
             [&](auto v) { o.measure.warmup = parse_count("--warmup", v, 0, 100); }},
            {measures, may_be_cold}},
           {{"--warmup-both-ways", "",
             "before each matrix, warm up its links with bidirectional copies by copy engines",
             [&](auto) { o.measure.warm_bidirectional = true; }},
            {measures, between_devices}},
           {{"--concurrency", "MODE",
             "which pairs are measured concurrently: " + all_words<Concurrency>() +
                 " (default: auto: chosen by calibration)",
             [&](auto v) { o.measure.concurrency = parse_word<Concurrency>(v); }},
            {measures}},
           {{"--groups", "FILE",
             "file with the nodes of each leaf switch, for --concurrency matchings: lines such as 'leaf1: n[1-32]', or "
             "Slurm's topology.conf",
             [&](auto v) {
               if (v.empty()) throw BadInput("--groups '': name a file");
               o.ranks.groups = v;
             }},
            {measures, confirms}},
           {{"--confirm-after", "SECONDS",
             "pause of --concurrency matchings before the remeasurement of slow cells (default: 10)",
             [&](auto v) { o.measure.confirm_after = parse_number("--confirm-after", v, 0, 86400); }},
            {measures, confirms}},
           {{"--references", "FILE",
             "file with the expected values of cells, to measure worse cells again; each line contains TESTCASE, NAME, "
             "VALUE and UNIT, separated by tabs",
             [&](auto v) {
               if (v.empty()) throw BadInput("--references '': name a file");
               o.references = v;
             }},
            {measures, has_one_size, remeasures_outliers}},
           {{"--verify", "", "compare the data that arrived (default)", [&](auto) { o.measure.verify = true; }},
            {measures}},
           {{"--no-verify", "", "do not compare the data that arrived", [&](auto) { o.measure.verify = false; }},
            {measures}},
           {max_time_option(o, "of one matrix"), {measures}},
           {{"--pair-timeout", "SECONDS",
             "time limit of concurrent pairs; pairs that hang are marked and the run continues (default: 30)",
             [&](auto v) {
               o.measure.cell_timeout = o.ranks.pair_timeout = parse_number("--pair-timeout", v, 0.1, 86400);
             }},
            {measures}},
           {{"--budget", "SECONDS",
             "time budget of the whole run; the most informative test cases come first, and skipped test cases are "
             "listed (sets --timeout to this budget plus 30 s)",
             [&](auto v) { o.budget = parse_number("--budget", v, 0.001, 86400); }},
            {measures}},
           {{"--soak", "TIME",
             "after the measurement, heat the devices and repeat it for this long, e.g. 90s, 30m or 8h; report each "
             "change and its time",
             [&](auto v) { o.soak = parse_duration("--soak", v); }},
            {measures, heats}},
           {timeout_option(o), {runs}},
           {wait_idle_option(o), {measures}},
           {refuse_busy_option(o), {measures}},
           {ignore_processes_option(o), {runs}},
       }},
      {"Output",
       {
           {record_option(o), {runs}},
           {asked_by_option(o), {runs, keeps_record<P2pOptions, RunScope>}},
           {max_display_option(o), {runs}},
           {timing_option(o), {runs}},
           {{"--utilisation", "", "also print each value as a share of the limit of its path",
             [&](auto) { o.utilisation = true; }},
            {measures, has_limits, knows_limits}},
           {{"--limit", "CLASS=GBPS[,…]",
             "link limits in GB/s per direction and link class, instead of the built-in limits (see --limits)",
             [&](auto v) { o.plan.limits = parse_limits(v); }},
            {measures, has_limits}},
       }},
      {"Fault injection",
       {
           {{"--simulate-fault", "KIND:ENDPOINT",
             "simulate a fault: " + simulated_fault_kinds() +
                 " at an endpoint or direction, e.g. slow:gpu1 or 'slow:gpu1->gpu2'",
             [&](auto v) { o.fault = parse_simulated_fault(v); }},
            {runs, condition::fault_has_effect}},
       }},
      {"Information",
       {
           {print_option(o, "--list", "list the test cases and exit", testcase_list), {lists}},
           {{"--format", "FORMAT", "format of --list: text or json (default: text)",
             [&](auto v) { o.list_as_json = parse_format(v) == "json"; }},
            {has_format}},
           {print_option(o, "--limits", "print the table of link limits and exit", limits_text), {condition::limits}},
           {print_option(o, "--version", "print the version and exit",
                         [] { return std::string("linkmatrix p2p_matrix " LINKMATRIX_VERSION "\n"); }),
            {}},
           {print_option(o, "--help", "print this help and exit", p2p_help), {}},
       }},
  };
}

/// The rows of all groups.
std::vector<Row> all_rows(Given& given) {
  std::vector<Row> rows;
  for (Group& group : option_table(given)) std::ranges::move(group.rows, std::back_inserter(rows));
  return rows;
}

}  // namespace

P2pOptions parse_p2p_options(std::span<char* const> arguments) {
  Given given;
  for (const char* argument : arguments) given.options.command.emplace_back(argument);
  given.options.given = parse_command_line(arguments.subspan(1), options_of(all_rows(given)));
  if (given.size_options > 1) throw BadInput("sizes are given twice: use either --size, --sweep or --random-sizes");
  if (given.random) given.options.sizes = parse_random(*given.random, given.seed);
  complete(given.options);
  if (given.options.print != nullptr) refuse_unused(given.options, RunScope{});
  if (given.options.list_as_json && given.options.print == testcase_list) given.options.print = testcases_json;
  return given.options;
}

void refuse_unused(const P2pOptions& options, const RunScope& run) {
  const bool is_table = options.print == testcase_list || options.print == limits_text;
  if (options.print != nullptr && !is_table) return;  // --help and --version are valid with all other options
  Given unused;
  refuse_unused(all_rows(unused), options, run);
}

std::string p2p_help() {
  Given unused;
  std::string options;
  for (const auto& [heading, rows] : option_table(unused))
    options += "\n" + std::string(heading) + "\n" + options_text(options_of(rows));
  return "p2p_matrix measures every link between devices, ranks or nodes: bandwidth and latency, as a matrix.\n"
         "Rows are sources, columns are destinations. GB/s are 1e9 bytes/s; latency is in µs.\n"
         "Without options the program runs suite 'quick'. An option that has no effect in a run is an error.\n"
         "Example: p2p_matrix --testcase device_to_device_memcpy_write_ce --record links.json\n" +
         options +
         "\nExit codes: 0 measured and verified, 1 verification failed, 2 bad input, 3 device or MPI error,\n"
         "4 timed out (the record contains the results measured before).\n";
}

}  // namespace linkmatrix
