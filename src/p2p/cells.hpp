#pragma once

#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// Endpoints of one kind as rows or columns, in the order of the back end.
struct Axis {
  std::vector<int> endpoints;  ///< indices into Machine::endpoints()
  std::vector<std::string> labels;
};

Axis axis(const Backend& backend, EndpointKind kind);

/// Minimum size at which one kernel launch makes all repeats of a copy between devices, as in nvbandwidth. Smaller
/// copies are separate launches, because applications also pay for the launch.
constexpr std::uint64_t looped_bytes = 32 * MiB;

/// Creates the copies of one test case: operator() for one direction, cell() for a whole cell.
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

/// Returns the cells of every ordered pair of devices, in the order of a round robin schedule, so that pack_rounds()
/// reproduces its rounds. A bidirectional pair is one cell.
std::vector<CopyCell> pair_cells(const TestCase& t, const std::vector<int>& devices, const CopyMaker& copy);

/// Returns the cells of each device with itself: in a single row if `rows` is 1, else on the diagonal.
std::vector<CopyCell> local_cells(std::size_t rows, const std::vector<int>& devices, const CopyMaker& copy);

/// Returns a cell for every row and column: copies between host memory and devices. With Load::others, all other
/// devices make the same copies as background load.
std::vector<CopyCell> grid_cells(const TestCase& t, const Axis& rows, const Axis& columns, const CopyMaker& copy);

/// Returns one cell per device with the copies from (inbound) or to all other devices that it can access. A device
/// without peers has a cell without copies.
std::vector<CopyCell> fan_cells(bool inbound, const Backend& backend, const std::vector<int>& devices,
                                const CopyMaker& copy);

/// Returns whether two devices can access each other's memory; true if unknown.
bool reach_each_other(const Topology& topology, std::size_t a, std::size_t b);

/// Returns rounds in which every device sends and receives: in round s, device d sends to device d + s.
std::vector<Round> shifts(const std::vector<CopyCell>& cells, std::size_t devices);

}  // namespace linkmatrix
