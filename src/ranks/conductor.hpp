#pragma once

#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/measure.hpp"
#include "core/result.hpp"
#include "ranks/messages.hpp"
#include "ranks/player.hpp"
#include "ranks/rounds.hpp"
#include "ranks/sink.hpp"
#include "ranks/wire.hpp"

namespace linkmatrix::ranks {

constexpr int order_tag = 1, report_tag = 2;

/// Rank 0: tells every rank with whom it plays, round by round, and collects what they measured. It alone knows the
/// schedule; every other rank needs no more than its next order. A rank that does not answer in time is left out from
/// then on, a match that failed is played once more at the end, and everything else goes on.
class Conductor {
 public:
  /// Says in a match's order by which transport each lane goes.
  using Route = std::function<void(const Match& match, Order& order)>;

  /// labels: of every rank, by number.
  Conductor(Wire& wire, Player& own, std::vector<std::string> labels, std::vector<std::string> nodes, Route route);

  /// Has every rank make its buffers. Throws BadInput with the first refusal.
  void reserve(std::uint64_t bytes, double seconds);

  /// Has all ranks make the window of one-sided transfers. Throws BadInput.
  void open_window(double seconds);

  /// Measures a matrix. `form` is what all its orders have in common; `result` has been described and takes notes,
  /// schedule and what was measured again; the cells go to `sink`. Throws TimedOut after the deadline.
  void measure(const Rounds& rounds, const Order& form, const MeasureOptions& how, Deadline deadline,
               MatrixResult& result, Sink& sink);

  /// Ends every rank that answers. Returns whether all did, and no message was ever given up.
  bool dismiss();

 private:
  struct Seat {
    Report report{};
    MPI_Request request = MPI_REQUEST_NULL;
    bool alive = true;
  };

  std::vector<Report> play(std::span<const Match> matches, const Order& form);
  std::vector<Order> orders_for(std::span<const Match> matches, const Order& form);
  void collect(int serial, const std::vector<int>& expected, double seconds);
  void send(const Order& order, int rank);
  bool hand_over();
  MPI_Request listen(int rank);
  void give_up(const std::set<int>& silent);
  void call(const std::vector<int>& ranks, Order order, double seconds);
  void call_all(Order order, double seconds);
  void lose(int rank);
  bool all_alive(const Match& match) const;
  Report verdict(const Match& match, const Order& order) const;

  void play_round(std::span<const Match> matches, std::size_t at_once, const Order& form);
  void settle(const Match& match, const Report& report);
  void retry(const Order& form);
  std::size_t calibrate(const Rounds& rounds, const Order& form, MatrixResult& result);
  void check_alone(const Rounds& rounds, const Order& form, bool replace);
  std::string name(const Match& match) const;

  Wire& wire_;
  Player& own_;
  std::vector<std::string> labels_, nodes_;
  Route route_;
  std::vector<Seat> seats_;
  std::deque<std::vector<Order>> sent_;  ///< those that may still be under way to a rank that is lost
  int serial_ = 0;
  bool clean_ = true;
  bool calling_ = false;  ///< the roll of a node
  MatrixResult* result_ = nullptr;
  Sink* sink_ = nullptr;
  std::vector<Match> failed_;
  std::vector<std::string> failures_;  ///< why, of each
};

}  // namespace linkmatrix::ranks
