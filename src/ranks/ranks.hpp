#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Why a rank's device does not work.
struct NoDevice {
  std::string why;  ///< "": it works
  LossKind loss = LossKind::device;
};

/// Answer to a sampling order: report and samples of the leader, or the report of a rank that failed.
struct CellAnswer {
  Report report{};
  std::vector<Sample> samples;
};

/// All ranks of a job, as seen by rank 0. A rank that does not answer in time is lost.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// Samples cells concurrently. No rank may be in two cells. Returns one answer per order, at most some seconds after
  /// the longest time limit.
  virtual std::vector<CellAnswer> sample(std::vector<Order> orders) = 0;

  virtual bool is_available(int rank) const = 0;

  /// Returns the status of cells of a lost rank: timeout if the rank does not answer, error if its device does not
  /// work.
  virtual CellStatus lost_status(int) const { return CellStatus::timeout; }

  /// Returns the ranks lost since the last call.
  virtual std::vector<Lost> take_lost() = 0;
};

/// Sends questions of rank 0 to the payloads of ranks, in messages of any length.
class Correspondence {
 public:
  virtual ~Correspondence() = default;

  struct Question {
    int rank;
    std::vector<std::byte> bytes;
  };
  struct Reply {
    ReportStatus status = ReportStatus::ok;
    std::string why;               ///< reason, if not ok
    std::vector<std::byte> bytes;  ///< answer, if ok
  };
  /// Asks ranks concurrently, at most one question per rank. Returns the replies in order. A rank that does not answer
  /// within `seconds` is lost, and its reply has the status timeout.
  virtual std::vector<Reply> ask(const std::vector<Question>& questions, double seconds) = 0;

  /// Returns why a rank is lost; nothing if it is available.
  virtual std::optional<std::string> lost(int rank) const = 0;
  virtual LossKind lost_kind(int) const { return LossKind::process; }
};

/// Failure of a question to several ranks.
struct RankFailure {
  CellStatus status = CellStatus::error;  ///< timeout or error
  std::string why;                        ///< one sentence
};

/// Asks ranks 0 to `count` − 1 the same question concurrently. Calls take(reply) in order, up to the first failure,
/// which it returns. Throws BadInput if a rank refuses the question.
std::optional<RankFailure> ask_ranks(Correspondence& ranks, int count, const std::vector<std::byte>& question,
                                     double seconds, const std::function<void(std::span<const std::byte>)>& take);

}  // namespace linkmatrix::ranks
