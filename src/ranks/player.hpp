#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/simulated_fault.hpp"
#include "ranks/messages.hpp"
#include "ranks/payload.hpp"
#include "ranks/state.hpp"
#include "ranks/wire.hpp"

namespace linkmatrix::ranks {

/// A rank's part in what the conductor orders. A match has one lane or several, all at once; the source of the first
/// one leads: it says what comes next, and decides when the match's value is known well enough.
class Player {
 public:
  Player(Wire& wire, Payload& payload, std::optional<SimulatedFault::Kind> fault)
      : wire_{wire}, payload_{payload}, fault_{fault} {}

  /// Does one order; never throws: what went wrong is in the report.
  Report play(const Order& order);

  /// What the rank's device said of itself when it was last ordered to.
  const StateMessage& state() const { return state_; }

 private:
  void ask_device();
  void lead(const Order& order, Deadline deadline, Report& report);
  std::vector<int> others_of(const Order& order) const;
  void call_alarm(const Order& order, const std::string& why);
  void follow(const Order& order, Deadline deadline, Report& report);
  void tell_all(const Order& order, const Step& step, Deadline deadline);
  /// One step on all lanes, the leader's view: the longest time, the sum of what was wrong.
  Taken step_all(const Order& order, const Step& step, Deadline deadline, Report& report);
  Taken take(const Order& order, const Step& step, const Lane& lane, Deadline deadline);
  void suffer(Deadline deadline) const;
  Step first_step(const Order& order, Deadline deadline, Report& report);

  Wire& wire_;
  Payload& payload_;
  std::optional<SimulatedFault::Kind> fault_;
  StateMessage state_;
  int states_asked_ = 0;
  int met_ = 0;  ///< serial of the last match that began
};

}  // namespace linkmatrix::ranks
