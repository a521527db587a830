#pragma once

#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// The endpoints of a kind, in the order of the back end.
struct Axis {
  std::vector<int> endpoints;
  std::vector<std::string> labels;
};

Axis axis(const Backend& backend, EndpointKind kind);

/// From here on a kernel repeats its copy between devices within one launch, as in nvbandwidth. A smaller copy is a
/// launch of its own, which is most of what it takes, and a user of kernels pays it.
constexpr std::uint64_t looped_bytes = 32 * MiB;

/// Makes the copies of one test case.
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

  /// Of one cell: there, and back where both ways are measured.
  std::vector<Copy> cell(int source, int destination) const {
    std::vector<Copy> copies{(*this)(source, destination)};
    if (both_) copies.push_back((*this)(destination, source));
    return copies;
  }

 private:
  Copy form_;
  bool both_;
};

/// Every ordered pair in a round robin's order, one way and then the other: greedy packing gives its rounds back.
/// A bidirectional pair stands once, with the copies of both directions.
std::vector<CopyCell> pair_cells(const TestCase& t, const std::vector<int>& devices, const CopyMaker& copy);

/// Each device with itself: on the diagonal of `rows` rows, or in a single row.
std::vector<CopyCell> local_cells(std::size_t rows, const std::vector<int>& devices, const CopyMaker& copy);

/// Every row with every column. Under load, all other devices make the same copies with the row's or column's memory.
std::vector<CopyCell> grid_cells(const TestCase& t, const Axis& rows, const Axis& columns, const CopyMaker& copy);

/// One cell for each device, of its copies from or to all the others that it reaches; none: without a copy.
std::vector<CopyCell> fan_cells(bool inbound, const Backend& backend, const std::vector<int>& devices,
                                const CopyMaker& copy);

/// Whether two devices have access to each other's memory, as far as it is known.
bool reach_each_other(const Topology& topology, std::size_t a, std::size_t b);

/// Rounds in which every device sends and every device receives: device d to d + shift, for every shift.
std::vector<Round> shifts(const std::vector<CopyCell>& cells, std::size_t devices);

}  // namespace linkmatrix
