#include "p2p/option_scope.hpp"

#include <algorithm>

#include "p2p/options.hpp"

namespace linkmatrix {
namespace {

using Action = P2pOptions::Action;

template <Action action>
bool acts(const P2pOptions& o, const RunScope&) {
  return o.action == action;
}

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

bool is_given(const P2pOptions& o, std::string_view name) {
  return std::find(o.given.begin(), o.given.end(), name) != o.given.end();
}

}  // namespace

namespace condition {

const Condition lists{acts<Action::list>, "another option says what is printed: say one of them"};
const Condition limits{acts<Action::limits>, lists.why_not};
const Condition topology{acts<Action::topology>, lists.why_not};

const Condition has_format{acts<Action::list>, "only --list has a format: leave it out"};
const Condition runs{[](auto& o, auto&) { return o.action == Action::measure || o.action == Action::topology; },
                     "only a table of the program is printed: leave it out"};
const Condition measures{acts<Action::measure>, "nothing is measured: leave it out"};
const Condition chooses_memory{
    [](auto& o, auto& run) { return o.action == Action::measure || (o.action == Action::topology && are_ranks(run)); },
    measures.why_not};
const Condition has_open_memory{
    [](auto& o, auto& run) { return are_ranks(run) || o.action != Action::measure || (o.named.empty() && !o.suite); },
    "a test case that is named, or of a suite, has its own: leave it out"};
const Condition heats{[](auto&, auto& run) { return !are_ranks(run); },
                      "ranks are not heated: leave it out, or start the program without mpirun"};
const Condition of_devices{[](auto&, auto& run) { return !are_ranks(run); },
                           "the launcher chooses the ranks: start fewer with mpirun -n"};

const Condition has_sizes{any<takes_sizes>,
                          "every test case measured has a size of its own: leave it out, or measure a bandwidth"};
const Condition draws{
    [](auto& o, auto&) { return is_given(o, "--random-sizes") || o.measure.concurrency == Concurrency::matchings; },
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

const Condition keeps_record{[](auto& o, auto&) { return o.record.has_value(); },
                             "it stands in the record: say --record FILE too"};

/// What a device counts is seen without a measurement; what is shared, only where cells run at once.
const Condition drill_acts{
    [](auto& o, auto&) {
      using Kind = SimulatedFault::Kind;
      if (!o.fault || o.fault->kind == Kind::counter) return true;
      if (o.fault->kind == Kind::flip && o.soak <= 0) return false;
      if (o.fault->kind == Kind::corrupt && !o.measure.verify) return false;
      if (o.fault->kind == Kind::shared && o.measure.concurrency == Concurrency::serial) return false;
      return o.action == Action::measure;
    },
    "nothing is measured that could have the fault: leave it out, or measure ('shared': several cells at once; "
    "'corrupt': without --no-verify; 'flip': with --soak)"};

}  // namespace condition

}  // namespace linkmatrix
