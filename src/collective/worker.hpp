#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace linkmatrix {

/// What was asked for is not to be had here, and nothing was begun: the next one can be.
class NotAvailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Collectives that run one after the other without a pause: so many samples of so many repeats.
struct Burst {
  static constexpr int most_samples = 7;

  int samples = 1;  ///< at most most_samples
  int repeats = 1;
};

/// Seconds that the ranks of a process took for each sample of a burst: plain data, sent as bytes.
struct RankTimes {
  int ranks = 0;
  std::array<double, Burst::most_samples> sums{};

  /// A rank's moments: when the burst began, and when each of its samples ended.
  template <class Moments>
  void add(const Moments& moments) {
    ++ranks;
    for (std::size_t i = 1; i < moments.size(); ++i) sums.at(i - 1) += moments[i] - moments[i - 1];
  }
  RankTimes& operator+=(const RankTimes& others) {
    ranks += others.ranks;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others.sums[i];
    return *this;
  }
};

/// Of each sample of the burst; empty where no rank took part.
inline std::vector<double> mean_of(const RankTimes& times, const Burst& burst) {
  std::vector<double> means;
  for (int i = 0; times.ranks > 0 && i < burst.samples; ++i)
    means.push_back(times.sums.at(static_cast<std::size_t>(i)) / times.ranks);
  return means;
}

/// A process's part of a communicator: its host memory, or its devices. All processes of the communicator make the same
/// calls in the same order. Throws BadInput where something is not to be had, TimedOut and DeviceError.
class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;

  /// Makes buffers, and what a forced algorithm needs.
  virtual void prepare(const CollectiveCase& wanted, Deadline deadline) = 0;

  /// What was prepared, begun by all ranks together.
  virtual RankTimes run(const Burst& burst, Deadline deadline) = 0;

  /// Does it once with known elements. Returns how many that arrived here are wrong.
  virtual std::uint64_t verify(Deadline deadline) = 0;

  /// By which algorithm, protocol and channels the last one ran, in the library's words; empty where it does not say.
  virtual std::string choice() const { return ""; }
};

}  // namespace linkmatrix
