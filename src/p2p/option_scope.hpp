#pragma once

#include <span>
#include <string_view>

#include "p2p/testcases.hpp"
#include "program/option_table.hpp"

namespace linkmatrix {

struct P2pOptions;

/// What a run does, as far as it decides which options mean something to it.
struct RunScope {
  std::string_view backend{};             ///< "cuda", "host", "mpi" …; empty: only a table of the program is printed
  std::span<const TestCase> testcases{};  ///< that are measured; empty: none
};

using Condition = OptionCondition<P2pOptions, RunScope>;

/// The conditions that the rows of the option table name.
namespace condition {

extern const Condition lists, limits, topology;  ///< the action is that option's own
extern const Condition has_format;               ///< lists the test cases
extern const Condition runs;                     ///< measures, or prints the topology
extern const Condition measures;
extern const Condition chooses_memory;   ///< measures; or the topology of ranks, of which it is the memory
extern const Condition has_open_memory;  ///< of ranks; else no test case is named, each of which has its own
extern const Condition sees_others;      ///< the back end knows what others do
extern const Condition heats;            ///< the back end can keep devices busy
extern const Condition of_devices;       ///< not of ranks, which the launcher chooses
extern const Condition has_sizes;        ///< some test case has no size of its own
extern const Condition draws;            ///< --random-sizes, or --concurrency matchings
extern const Condition confirms;         ///< --concurrency matchings
extern const Condition has_one_size;     ///< of transfers: references are of one
extern const Condition takes_second_looks;
extern const Condition copies_by_kernels, by_any_kernel, has_blocks;
extern const Condition pairs_of_devices, pairs_with_themselves;
extern const Condition gpus_host_memory, huge_pages;
extern const Condition has_window, of_ranks, of_nodes, device_memory_of_ranks;
extern const Condition may_be_cold;      ///< --warmup 0
extern const Condition between_devices;  ///< --warmup-both-ways
extern const Condition has_limits, knows_limits;
extern const Condition keeps_record;
extern const Condition drill_acts;

}  // namespace condition

}  // namespace linkmatrix
