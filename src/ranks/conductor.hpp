#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/measure.hpp"
#include "core/outliers.hpp"
#include "core/result.hpp"
#include "ranks/ensemble.hpp"
#include "ranks/messages.hpp"
#include "ranks/rounds.hpp"
#include "ranks/sink.hpp"

namespace linkmatrix::ranks {

/// Rank 0: tells every rank with whom it plays, round by round, and collects what they measured. It alone knows the
/// schedule; every other rank needs no more than its next order. A match that failed is played once more at the end,
/// those of ranks that are lost are only marked, and everything else goes on.
class Conductor {
 public:
  /// Says in a match's order by which transport each lane goes.
  using Route = std::function<void(Order& order)>;

  Conductor(Ensemble ensemble, Route route) : ensemble_{std::move(ensemble)}, route_{std::move(route)} {}

  /// Has every rank make its buffers. Throws BadInput with the first refusal.
  void reserve(std::uint64_t bytes, double seconds);

  /// Has all ranks make the window of one-sided transfers. Throws BadInput.
  void open_window(double seconds);

  /// Measures a matrix. `form` is what all its orders have in common; `result` has been described and takes notes,
  /// schedule and what was measured again; the cells go to `sink`. Throws TimedOut after the deadline.
  void measure(const Rounds& rounds, const Order& form, const MeasureOptions& how, Deadline deadline,
               MatrixResult& result, Sink& sink);

  std::vector<DeviceState> device_states() { return ensemble_.device_states(); }

  /// Ends every rank that is there. Returns whether all were, and no message was ever given up.
  bool dismiss() { return ensemble_.dismiss(); }

 private:
  std::vector<Report> play(std::span<const Match> matches, const Order& form);
  void play_round(std::span<const Match> matches, std::size_t at_once, const Order& form);
  void settle(const Match& match, const Report& report);
  void retry(const Order& form);
  std::size_t calibrate(const Rounds& rounds, const Order& form, MatrixResult& result);
  std::vector<Standing> standings(const Rounds& rounds, std::vector<Match>& matches) const;
  std::optional<Report> play_alone(const Match& match, const Order& form, int tries);
  void measure_again(const Match& match, const Order& form, bool replace, std::vector<Remeasured>& list);
  void check_alone(const Rounds& rounds, const Order& form, bool replace);
  std::string name(const Match& match) const;

  Ensemble ensemble_;
  Route route_;
  MatrixResult* result_ = nullptr;
  Sink* sink_ = nullptr;
  std::vector<Match> failed_;
  std::vector<std::string> failures_;  ///< why, of each
};

}  // namespace linkmatrix::ranks
