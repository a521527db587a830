#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "collective/worker.hpp"
#include "core/machine.hpp"
#include "core/result.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Result of prepare() or run() on all ranks.
struct CollectiveAnswer {
  CellStatus status = CellStatus::ok;  ///< ok, timeout or error
  std::string why{};                   ///< one sentence if not ok
  /// Seconds of each sample, as the mean over ranks (as in nccl-tests and OSU's benchmarks).
  std::vector<double> seconds{};
  std::vector<std::uint64_t> wrong{};  ///< wrong elements of all ranks per sample; empty: not compared
  double comparing = 0;                ///< seconds of the comparison, not included in `seconds`
  std::string choice{};                ///< algorithm, protocol and channels, if the library reports them
};

inline CollectiveAnswer answer_of(const RankTimes& times, const Burst& burst) {
  CollectiveAnswer answer{.seconds = mean_of(times, burst), .comparing = times.comparing};
  if (burst.compares) answer.wrong.assign(times.wrong.begin(), times.wrong.begin() + burst.samples);
  return answer;
}

/// All ranks of a communicator, as seen by the process that measures.
class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual Machine& machine() = 0;
  /// Returns the endpoint labels of the ranks, by rank.
  virtual std::vector<std::string> ranks() const = 0;
  virtual Engine engine() const = 0;
  virtual Memory memory() const = 0;
  /// Returns the default sizes in bytes.
  virtual std::vector<std::uint64_t> default_sizes() const = 0;

  /// Returns one sentence on why a case cannot run here; nothing if it can.
  virtual std::optional<std::string> refusal(const CollectiveCase& wanted) const = 0;

  /// Prepares a case for run(). seconds: time limit. Throws BadInput if memory is insufficient.
  virtual CollectiveAnswer prepare(const CollectiveCase& wanted, double seconds) = 0;
  /// Runs the last prepared case. seconds: time limit.
  virtual CollectiveAnswer run(const Burst& burst, double seconds) = 0;
  /// Returns the status of all further cells after the loss of a rank; nothing if all ranks are available.
  virtual std::optional<CellStatus> lost_status() const = 0;
  virtual std::vector<Lost> take_lost() = 0;

  /// Returns facts of the library for the record, such as its transports.
  virtual Software facts() const { return {}; }
};

}  // namespace linkmatrix
