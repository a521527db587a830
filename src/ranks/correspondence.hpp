#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

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
