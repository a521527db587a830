#pragma once

#include <list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/machine.hpp"
#include "ranks/messages.hpp"
#include "ranks/player.hpp"
#include "ranks/wire.hpp"

namespace linkmatrix::ranks {

/// All ranks as rank 0 sees them: hands them orders, waits for their reports, and knows who is there. A rank that does
/// not answer in time is left out from then on.
class Ensemble {
 public:
  /// labels, nodes: of every rank, by number.
  Ensemble(Wire& wire, Player& own, std::vector<std::string> labels, std::vector<std::string> nodes);

  /// Has matches played, all at the same time; no rank is in two. Of each the leader's report, unless a rank of it was
  /// lost or another one says what went wrong. Throws TimedOut where the run is ended from outside.
  std::vector<Report> play(std::vector<Order> orders);

  /// Has every rank that is there do the same, this one too. Throws BadInput with the first refusal.
  void call_all(Order order, double seconds);

  /// What each rank's device says of itself, by rank; nothing of ranks that are not there.
  std::vector<DeviceState> device_states();

  /// Ends every rank that is there. Returns whether all were, and no message was ever given up.
  bool dismiss();

  bool is_there(std::span<const Lane> lanes) const;
  bool is_whole() const;

  /// Who was lost since this was last asked, a sentence each.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  struct Seat {
    Report report{};
    MPI_Request request = MPI_REQUEST_NULL;
    bool there = true;
  };

  Seat& seat_of(int rank) { return seats_[static_cast<std::size_t>(rank)]; }
  const Seat& seat_of(int rank) const { return seats_[static_cast<std::size_t>(rank)]; }
  std::vector<int> others() const;
  void send(const Order& order, int rank);
  bool hand_over();
  MPI_Request listen(int rank);
  void collect(int serial, const std::vector<int>& expected, double seconds);
  void give_up(const std::set<int>& silent);
  void call(const std::vector<int>& ranks, Order order, double seconds, bool here_too);
  void lose(int rank);
  Report verdict(const Order& order) const;

  Wire& wire_;
  Player& own_;
  std::vector<std::string> labels_, nodes_;
  std::vector<Seat> seats_;
  std::list<std::vector<Order>> sent_;  ///< those that may still be under way to a rank that is lost
  std::vector<std::string> news_;
  int serial_ = 0;
  bool clean_ = true;
  bool calling_ = false;  ///< the roll of a node
};

}  // namespace linkmatrix::ranks
