#pragma once

#include <cstdint>
#include <string>

#include "collective/layout.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace linkmatrix {

/// What was asked for is not to be had here, and nothing was begun: the next one can be.
class NotAvailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Seconds that the ranks of a process took.
struct RankTimes {
  int ranks = 0;
  double sum = 0;

  void add(double seconds) {
    ++ranks;
    sum += seconds;
  }
};

/// A process's part of a communicator: its host memory, or its devices. All processes of the communicator make the same
/// calls in the same order. Throws BadInput where something is not to be had, TimedOut and DeviceError.
class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;

  /// Makes buffers, and what a forced algorithm needs.
  virtual void prepare(const CollectiveCase& wanted, Deadline deadline) = 0;

  /// What was prepared, so many times one after the other, begun together: the seconds of all of them.
  virtual RankTimes run(int repeats, Deadline deadline) = 0;

  /// Does it once with known elements. Returns how many that arrived here are wrong.
  virtual std::uint64_t verify(Deadline deadline) = 0;

  /// By which algorithm, protocol and channels the last one ran, in the library's words; empty where it does not say.
  virtual std::string choice() const { return ""; }
};

}  // namespace linkmatrix
