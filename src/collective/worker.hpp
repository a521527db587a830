#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/blocks.hpp"
#include "collective/layout.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace linkmatrix {

/// What was asked for is not to be had here, and nothing was begun: the next one can be.
class NotAvailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Collectives that run one after the other without a pause: so many samples of so many repeats. Where they are
/// compared, the last collective of each sample receives into a window of its own, all others into the first buffer.
struct Burst {
  static constexpr int most_samples = 7;

  int samples = 1;  ///< at most most_samples
  int repeats = 1;
  bool compares = false;   ///< what the last collective of each sample has brought
  ElementBlocks blocks{};  ///< of it
  unsigned wrong = 0;      ///< drill: bit s has the data of sample s be wrong …
  int wrong_rank = 0;      ///< … where this rank receives it

  bool is_wrong(int sample, int rank) const { return rank == wrong_rank && (wrong >> sample & 1U) != 0; }
  /// Where a collective of a sample receives into; 0: the first buffer.
  int window(int sample, int repeat) const { return compares && repeat + 1 == repeats ? sample + 1 : 0; }
};

/// What the ranks of a process took for each sample of a burst, and what was wrong then: plain data, sent as bytes.
struct RankTimes {
  int ranks = 0;
  std::array<double, Burst::most_samples> sums{};          ///< seconds
  std::array<std::uint64_t, Burst::most_samples> wrong{};  ///< elements
  double comparing = 0;                                    ///< seconds to lay and to compare, of the slowest process

  /// A rank's moments: when the burst began, and when each of its samples ended.
  template <class Moments>
  void add(const Moments& moments) {
    ++ranks;
    for (std::size_t i = 1; i < moments.size(); ++i) sums.at(i - 1) += moments[i] - moments[i - 1];
  }
  RankTimes& operator+=(const RankTimes& others) {
    ranks += others.ranks;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others.sums[i], wrong[i] += others.wrong[i];
    comparing = std::max(comparing, others.comparing);
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

  /// Makes buffers and what must arrive in them, and what a forced algorithm needs.
  virtual void prepare(const CollectiveCase& wanted, Deadline deadline) = 0;

  /// What was prepared, begun by all ranks together.
  virtual RankTimes run(const Burst& burst, Deadline deadline) = 0;

  /// By which algorithm, protocol and channels the last one ran, in the library's words; empty where it does not say.
  virtual std::string choice() const { return ""; }
};

}  // namespace linkmatrix
