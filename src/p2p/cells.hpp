#pragma once

#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// Endpoints of one kind, in the order of the back end.
struct Axis {
  std::vector<int> endpoints;
  std::vector<std::string> labels;
};

Axis axis(const Backend& backend, EndpointKind kind);

/// From this size on, a kernel repeats its copy between devices within one launch, as in nvbandwidth. Smaller copies
/// are separate launches, because the launch is most of their time, and users pay it.
constexpr std::uint64_t looped_bytes = 32 * MiB;

/// Creates the copies of one test case.
class CopyMaker {
 public:
  CopyMaker(const TestCase& t, const PlanOptions& options, std::uint64_t bytes)
      : form_{.bytes = bytes,
              .operation = t.operation,
              .engine = t.engine,
              .kernel = t.kernel.value_or(options.kernel),
              .direction = t.direction,
              .peer_access = t.peer_access,
              .offset = t.metric == Metric::latency ? 0 : options.offset,
              .blocks = options.blocks,
              .threads = options.threads,
              .looped = t.engine == Engine::sm && t.metric != Metric::latency && memory_of(t) == Memory::device &&
                        bytes >= looped_bytes},
        both_{t.metric == Metric::bidirectional} {}

  Copy operator()(int source, int destination) const {
    Copy copy = form_;
    copy.source = source;
    copy.destination = destination;
    return copy;
  }

  /// Returns the copies of one cell: one direction, or both for a bidirectional test case.
  std::vector<Copy> cell(int source, int destination) const {
    std::vector<Copy> copies{(*this)(source, destination)};
    if (both_) copies.push_back((*this)(destination, source));
    return copies;
  }

 private:
  Copy form_;
  bool both_;
};

/// Returns the cells of every ordered pair, in the order of a round robin schedule, one direction and then the other;
/// greedy packing reproduces its rounds. A bidirectional pair is one cell with copies in both directions.
std::vector<CopyCell> pair_cells(const TestCase& t, const std::vector<int>& devices, const CopyMaker& copy);

/// Returns the cells of each device with itself: on the diagonal of `rows` rows, or in a single row.
std::vector<CopyCell> local_cells(std::size_t rows, const std::vector<int>& devices, const CopyMaker& copy);

/// Returns the cells of every row and column. With load, all other devices make the same copies with the memory of the
/// row or column.
std::vector<CopyCell> grid_cells(const TestCase& t, const Axis& rows, const Axis& columns, const CopyMaker& copy);

/// Returns one cell per device with the copies from or to all other devices in reach. A device without peers has a cell
/// without copies.
std::vector<CopyCell> fan_cells(bool inbound, const Backend& backend, const std::vector<int>& devices,
                                const CopyMaker& copy);

/// Returns whether two devices have access to each other's memory, as far as known.
bool reach_each_other(const Topology& topology, std::size_t a, std::size_t b);

/// Returns rounds in which every device sends and receives: device d to d + shift, for every shift.
std::vector<Round> shifts(const std::vector<CopyCell>& cells, std::size_t devices);

}  // namespace linkmatrix
