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

/// Thrown if a request is impossible here. Nothing was started, so further requests are possible.
class NotAvailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A burst of samples without pauses. A sample is `repeats` collectives. If data is compared, the last collective of
/// each sample receives into its own window, all others into the first buffer.
struct Burst {
  static constexpr int most_samples = 7;

  int samples = 1;  ///< number of samples, at most most_samples
  int repeats = 1;
  bool compares = false;   ///< whether the data of each sample's last collective is compared
  ElementBlocks blocks{};  ///< compared blocks
  unsigned wrong = 0;      ///< simulated fault: bit s corrupts sample s
  int wrong_rank = 0;      ///< simulated fault: rank with the corrupt data

  bool is_wrong(int sample, int rank) const { return rank == wrong_rank && (wrong >> sample & 1U) != 0; }
  /// Returns the number of the receive buffer of a collective; 0: the first buffer.
  int window(int sample, int repeat) const { return compares && repeat + 1 == repeats ? sample + 1 : 0; }
};

/// Times and wrong elements of one or several ranks in a burst. Trivially copyable.
struct RankTimes {
  int ranks = 0;
  std::array<double, Burst::most_samples> sums{};          ///< by sample: seconds, summed over ranks
  std::array<std::uint64_t, Burst::most_samples> wrong{};  ///< by sample: wrong elements of all ranks
  double comparing = 0;                                    ///< seconds to prepare and compare, of the slowest process

  /// Adds a rank. moments: start of the burst, then end of each sample, in seconds.
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

/// Returns the mean seconds per sample; empty if no rank took part.
inline std::vector<double> mean_of(const RankTimes& times, const Burst& burst) {
  std::vector<double> means;
  for (int i = 0; times.ranks > 0 && i < burst.samples; ++i)
    means.push_back(times.sums.at(static_cast<std::size_t>(i)) / times.ranks);
  return means;
}

/// The ranks of one process in a communicator: its host memory, or its devices. All processes make the same calls in
/// the same order. Functions throw BadInput, TimedOut and DeviceError.
class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;

  /// Prepares buffers, expected data and the algorithm.
  virtual void prepare(const CollectiveCase& wanted, Deadline deadline) = 0;

  /// Runs the prepared case. All ranks start together.
  virtual RankTimes run(const Burst& burst, Deadline deadline) = 0;

  /// Returns algorithm, protocol and channels of the last collective, as last_choice(); "" if unknown.
  virtual std::string choice() const { return ""; }
};

}  // namespace linkmatrix
