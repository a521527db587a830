#pragma once

#include <algorithm>

#include "p2p/options.hpp"
#include "program/option_table.hpp"

namespace linkmatrix {

using Condition = OptionCondition<P2pOptions, RunScope>;

inline bool is_measured(const P2pOptions& o) { return o.print == nullptr && !o.topology; }

/// Returns whether any measured test case has the property `is`.
template <bool (*is)(const TestCase&)>
bool any(const P2pOptions&, const RunScope& run) {
  return std::any_of(run.testcases.begin(), run.testcases.end(), is);
}

inline bool is_of_ranks(const TestCase& t) { return t.engine == Engine::mpi; }
inline bool is_of_nodes(const TestCase& t) { return t.pattern == Pattern::nodes; }
inline bool takes_sizes(const TestCase& t) { return !has_fixed_size(t); }
inline bool has_open_kernel(const TestCase& t) { return copies_by_kernel(t) && !t.kernel; }
inline bool is_of_pairs(const TestCase& t) { return t.pattern == Pattern::pairs && !is_of_ranks(t); }
inline bool is_between_devices(const TestCase& t) {
  return is_of_pairs(t) || t.pattern == Pattern::inbound || t.pattern == Pattern::outbound;
}
inline bool has_messages(const TestCase& t) { return is_of_ranks(t) && t.metric != Metric::latency; }
inline bool is_with_host(const TestCase& t) { return !is_of_ranks(t) && memory_of(t) == Memory::host; }

inline bool are_ranks(const RunScope& run) { return run.backend == "mpi"; }
inline bool are_gpus(const RunScope& run) { return run.backend == "cuda" || run.backend == "ipc"; }

/// Conditions under which options have an effect, each with reason and remedy for the other case.
namespace condition {

inline const Condition lists{[](auto& o, auto&) { return o.print == testcase_list && !o.topology; },
                             "another option already chooses the output: give only one of these options"};
inline const Condition limits{[](auto& o, auto&) { return o.print == limits_text && !o.topology; }, lists.why_not};
inline const Condition topology{[](auto& o, auto&) { return o.print == nullptr; }, lists.why_not};

inline const Condition has_format{[](auto& o, auto&) { return o.print == testcase_list; },
                                  "only --list has a format: omit the option"};
inline const Condition runs{[](auto& o, auto&) { return o.print == nullptr; },
                            "only a table is printed: omit the option"};
inline const Condition measures{[](auto& o, auto&) { return is_measured(o); }, "nothing is measured: omit the option"};
inline const Condition chooses_memory{
    [](auto& o, auto& run) { return is_measured(o) || (o.topology && are_ranks(run)); }, measures.why_not};
inline const Condition has_open_memory{
    [](auto& o, auto& run) { return are_ranks(run) || !is_measured(o) || (o.named.empty() && !o.suite); },
    "the selected suite or test cases specify the memory: omit the option"};
inline const Condition heats{[](auto&, auto& run) { return !are_ranks(run); },
                             "ranks are not heated: omit the option, or start the program without mpirun"};
inline const Condition of_devices{[](auto&, auto& run) { return !are_ranks(run); },
                                  "the launcher chooses the ranks: start fewer ranks with mpirun -n"};

inline const Condition has_sizes{any<takes_sizes>,
                                 "every selected test case has a fixed size: omit the option, or measure a bandwidth"};
inline const Condition draws{
    [](auto& o, auto&) { return o.is_given("--random-sizes") || o.measure.concurrency == Concurrency::matchings; },
    "the run uses no random numbers: add --random-sizes or --concurrency matchings"};
inline const Condition confirms{[](auto& o, auto&) { return o.measure.concurrency == Concurrency::matchings; },
                                "the option needs --concurrency matchings: add --concurrency matchings"};

inline const Condition has_one_size{
    [](auto& o, auto&) { return o.sizes.size() < 2 && o.blocks.size() < 2; },
    "references apply to one size: omit the option, or measure one size and one number of blocks"};
inline const Condition remeasures_outliers{
    [](auto& o, auto&) { return o.measure.concurrency != Concurrency::matchings; },
    "--concurrency matchings always confirms slow cells: omit one of the two options"};

inline const Condition copies_by_kernels{
    any<copies_by_kernel>,
    "no selected test case copies with a kernel: omit the option, or choose test cases with --engine sm"};
inline const Condition by_any_kernel{
    any<has_open_kernel>,
    "the name of every selected test case contains its kernel: omit the option, or choose other test cases"};
inline const Condition has_blocks{[](auto&, auto& run) { return run.backend != "host"; },
                                  "only GPU kernels have blocks and threads: omit the option"};

inline const Condition pairs_of_devices{
    any<is_of_pairs>, "no pairs of devices are measured: omit the option, or choose device_to_device_*"};
inline const Condition pairs_with_themselves{
    any<linkmatrix::pairs_with_themselves>,
    "the option needs a unidirectional test case between devices without load: omit the option, or "
    "choose e.g. device_to_device_memcpy_write_ce"};

inline const Condition gpus_host_memory{
    [](auto& o, auto& run) { return are_gpus(run) && any<is_with_host>(o, run); },
    "no copies between GPUs and host memory are measured: omit the option, or choose e.g. host_to_device_memcpy_ce"};
inline const Condition huge_pages{[](auto& o, auto& run) {
                                    if (are_ranks(run)) return o.axes.memory.value_or(Memory::host) == Memory::host;
                                    return !are_gpus(run) || any<is_with_host>(o, run);
                                  },
                                  "no host memory is measured: omit the option"};

inline const Condition of_ranks{any<is_of_ranks>, "no ranks are measured: omit the option, or start ranks with mpirun"};
inline const Condition has_window{
    any<has_messages>,
    "no bandwidth between ranks is measured: omit the option, or choose rank_to_rank_* or node_to_node_* under mpirun"};
inline const Condition may_be_cold{[](auto& o, auto& run) { return o.measure.warmup > 0 || !are_ranks(run); },
                                   "ranks need a warm-up to agree on the length of a sample: use 1 or more"};
inline const Condition between_devices{
    any<is_between_devices>, "nothing is measured between devices: omit the option, or choose e.g. device_to_device_*"};
inline const Condition of_nodes{
    any<is_of_nodes>, "no pairs of nodes are measured: omit the option, or choose node_to_node_* under mpirun"};
inline const Condition device_memory_of_ranks{
    [](auto& o, auto& run) { return are_ranks(run) && o.axes.memory == Memory::device; },
    "no device memory is sent between ranks: omit the option, or add --memory device under mpirun"};

inline const Condition has_limits{any<has_limit>,
                                  "no selected test case has a link limit: omit the option, or measure a bandwidth"};
inline const Condition knows_limits{[](auto& o, auto& run) {
                                      const bool ranks_of_devices = are_ranks(run) && o.axes.memory == Memory::device;
                                      return are_gpus(run) || ranks_of_devices || !o.plan.limits.empty();
                                    },
                                    "no limit of these links is known: set it with --limit"};

/// A simulated fault must be observable: `counter` always is, `shared` needs concurrent cells.
inline const Condition fault_has_effect{
    [](auto& o, auto&) {
      using Kind = SimulatedFault::Kind;
      if (!o.fault || o.fault->kind == Kind::counter) return true;
      if (o.fault->kind == Kind::flip && o.soak <= 0) return false;
      if (o.fault->kind == Kind::corrupt && !o.measure.verify) return false;
      if (o.fault->kind == Kind::shared && o.measure.concurrency == Concurrency::serial) return false;
      return is_measured(o);
    },
    "no measurement can have this fault: omit the option, or change the run ('shared': concurrent "
    "cells; 'corrupt': without --no-verify; 'flip': with --soak)"};

}  // namespace condition

}  // namespace linkmatrix
