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

/// What all ranks of a communicator answer to one thing that they did.
struct CollectiveAnswer {
  CellStatus status = CellStatus::ok;  ///< ok, timeout or error
  std::string why{};                   ///< one sentence where it is not ok
  /// Of each sample of a burst, the mean over the ranks: what nccl-tests and OSU's benchmarks take.
  std::vector<double> seconds{};
  std::vector<std::uint64_t> wrong{};  ///< elements that arrived wrong, of all ranks, of each sample that was compared
  double comparing = 0;                ///< seconds beside the samples, to compare them
  std::string choice{};                ///< by which algorithm, protocol and channels, where the library says so
};

inline CollectiveAnswer answer_of(const RankTimes& times, const Burst& burst) {
  CollectiveAnswer answer{.seconds = mean_of(times, burst), .comparing = times.comparing};
  if (burst.compares) answer.wrong.assign(times.wrong.begin(), times.wrong.begin() + burst.samples);
  return answer;
}

/// All ranks of a communicator, as the process sees them that says what is done.
class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual Machine& machine() = 0;
  /// By label, in their order.
  virtual std::vector<std::string> ranks() const = 0;
  virtual Engine engine() const = 0;
  virtual Memory memory() const = 0;
  /// Sizes that are measured where nobody says others, in bytes.
  virtual std::vector<std::uint64_t> default_sizes() const = 0;

  /// Why it cannot be done here, one sentence; nothing if it can.
  virtual std::optional<std::string> refusal(const CollectiveCase& wanted) const = 0;

  /// What was prepared last is what runs. Throws BadInput where memory is not to be had.
  virtual CollectiveAnswer prepare(const CollectiveCase& wanted, double seconds) = 0;
  virtual CollectiveAnswer run(const Burst& burst, double seconds) = 0;

  /// How every further cell ends because a rank is not there any more, which a collective needs; nothing if all are.
  virtual std::optional<CellStatus> lost_as() const = 0;
  virtual std::vector<Lost> take_lost() = 0;

  /// What the library said of itself since it began, for the record.
  virtual Software facts() const { return {}; }
};

}  // namespace linkmatrix
