#pragma once

#include <list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"
#include "ranks/rank_worker.hpp"
#include "ranks/ranks.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {

/// The ranks of an MPI job. Sends orders to the ranks, waits for their reports, and tracks lost ranks.
class MpiRanks final : public Ranks, public Correspondence {
 public:
  /// own: worker of this rank. labels, nodes: of every rank, by number. no_device: why a rank's device does not work,
  /// by number; "" if it works; an empty list if all work.
  MpiRanks(Communicator& mpi, RankWorker& own, std::vector<std::string> labels, std::vector<std::string> nodes,
           const std::vector<NoDevice>& no_device = {});

  std::vector<CellAnswer> sample(std::vector<Order> orders) override;
  bool is_there(int rank) const override { return !lost(rank); }
  CellStatus lost_as(int rank) const override { return state_of(rank).there ? CellStatus::error : CellStatus::timeout; }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }

  std::vector<Reply> ask(const std::vector<Question>& questions, double seconds) override;
  std::optional<std::string> lost(int rank) const override;
  LossKind lost_kind(int rank) const override { return state_of(rank).loss; }

  /// Allocates buffers of `bytes` bytes on every rank. Throws BadInput with the first refusal.
  void reserve(std::uint64_t bytes, Transport sharing, double seconds);

  /// Creates the window of one-sided transfers on all ranks. Throws BadInput.
  void open_window(double seconds);

  /// Returns the state of each rank's device, by rank; empty for lost ranks.
  std::vector<DeviceState> device_states();

  /// Returns the facts of each node, ordered by first rank; only the name for a node that does not answer.
  std::vector<NodeFacts> node_facts();

  /// Polls other processes on the nodes and devices of all available ranks.
  Activity polls();

  /// Returns the network traffic of each rank and its node's adapters, by rank; nothing for lost ranks.
  std::vector<std::optional<Traffic>> traffic();

  /// Returns one sentence on why the ranks cannot end normally; nothing if all answer and no message was cancelled.
  std::optional<std::string> disorder();

  /// Ends every available rank. Returns whether all were available and no message was cancelled.
  bool dismiss();

 private:
  struct RankState {
    Report report{};
    std::vector<Sample> samples{};  ///< samples of the report
    MPI_Request request = MPI_REQUEST_NULL;
    bool there = true;  ///< whether the rank answers
    std::string why;    ///< why the rank takes no part, although it may answer; empty: it takes part
    LossKind loss = LossKind::process;
  };

  RankState& state_of(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  const RankState& state_of(int rank) const { return states_[static_cast<std::size_t>(rank)]; }
  std::vector<int> others() const;
  void send(const Order& order, int rank);
  bool hand_over();
  void do_own(const Order& order, double seconds);
  MPI_Request listen(int rank);
  void collect(int serial, const std::vector<int>& expected, Deadline deadline);
  std::vector<Sample> take_samples(int rank, const Report& report);
  Reply take_reply(int rank, int serial);
  template <class Take>
  void ask_all(Task task, const Take& take);
  void give_up(const std::set<int>& silent);
  int call(const std::vector<int>& ranks, Order order, double seconds, bool here_too);
  void call_all(const Order& order, double seconds);
  void lose(int rank, const std::string& why);
  CellAnswer answer_to(const Order& order);

  Communicator& mpi_;
  RankWorker& own_;
  std::vector<std::string> labels_, nodes_;
  std::vector<RankState> states_;
  std::list<std::vector<Order>> sent_;      ///< orders that may still be in flight to a lost rank
  std::list<std::vector<Question>> asked_;  ///< likewise
  std::vector<Lost> lost_;
  int serial_ = 0;
  bool clean_ = true;
  bool asking_node_ = false;  ///< whether the other ranks of a lost rank's node are being checked
};

}  // namespace linkmatrix::ranks
