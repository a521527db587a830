#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Why a rank's device does not work; an empty text where it does.
struct NoDevice {
  std::string why;
  LossKind loss = LossKind::device;
};

/// What became of an order to sample a cell: the leader's report, unless a rank of the cell was lost or another one
/// says what went wrong; and its samples.
struct CellAnswer {
  Report report{};
  std::vector<Sample> samples;
};

/// All ranks of a job as rank 0 sees them. A rank that does not answer in time is left out from then on.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// Has cells sampled, all at the same time; no rank is in two. Returns one answer for each order, some seconds after
  /// the longest time limit at the latest.
  virtual std::vector<CellAnswer> sample(std::vector<Order> orders) = 0;

  virtual bool is_there(int rank) const = 0;

  /// How the cells of a rank end that is not there: it fell silent, or its device does not work.
  virtual CellStatus lost_as(int) const { return CellStatus::timeout; }

  /// Who was lost since this was last asked.
  virtual std::vector<Lost> take_lost() = 0;
};

/// Rank 0's way to ask ranks what only their payload understands, in messages of any length.
class Correspondence {
 public:
  virtual ~Correspondence() = default;

  struct Question {
    int rank;
    std::vector<std::byte> bytes;
  };
  struct Reply {
    ReportStatus status = ReportStatus::ok;
    std::string why;               ///< where it is not ok
    std::vector<std::byte> bytes;  ///< where it is
  };
  /// Asks all at once, each rank one question; a reply to each, in order. A rank that does not answer within `seconds`
  /// is lost, and its reply a timeout.
  virtual std::vector<Reply> ask(const std::vector<Question>& questions, double seconds) = 0;

  /// Why a rank takes no part any more, or never did; nothing if it does.
  virtual std::optional<std::string> lost(int rank) const = 0;
  virtual LossKind lost_kind(int) const { return LossKind::process; }
};

}  // namespace linkmatrix::ranks
