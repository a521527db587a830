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

/// The ranks of an MPI job, as seen by rank 0. Sends orders, waits for reports, and tracks lost ranks. Times are limits
/// in seconds.
class MpiRanks final : public Ranks, public Correspondence {
 public:
  /// own: worker of rank 0. labels, nodes: label and node name by rank. no_device: why a rank's device does not work,
  /// by rank; an empty list if all work.
  MpiRanks(Communicator& mpi, RankWorker& own, std::vector<std::string> labels, std::vector<std::string> nodes,
           const std::vector<NoDevice>& no_device = {});

  std::vector<CellAnswer> sample(std::vector<Order> orders) override;
  bool is_available(int rank) const override { return !lost(rank); }
  CellStatus lost_status(int rank) const override {
    return state_of(rank).there ? CellStatus::error : CellStatus::timeout;
  }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }

  std::vector<Reply> ask(const std::vector<Question>& questions, double seconds) override;
  std::optional<std::string> lost(int rank) const override;
  LossKind lost_kind(int rank) const override { return state_of(rank).loss; }

  /// Allocates buffers of `bytes` bytes on every rank. sharing: see Payload::share_by. Throws BadInput if a rank
  /// refuses.
  void reserve(std::uint64_t bytes, Transport sharing, double seconds);

  /// Creates the window of one-sided transfers on all ranks. Throws BadInput.
  void open_window(double seconds);

  /// Returns the state of each rank's device, by rank; empty for lost ranks.
  std::vector<DeviceState> device_states();

  /// Returns the facts of each node, in the order of first ranks. A node that does not answer has only its name.
  std::vector<NodeFacts> node_facts();

  /// Returns a poll of the nodes and devices of all available ranks.
  Activity polls();

  /// Returns the network traffic of each rank and its node's adapters, by rank; nothing for lost ranks.
  std::vector<std::optional<Traffic>> traffic();

  /// See Machine::abnormal_end.
  std::optional<std::string> abnormal_end();

  /// Ends every available rank. Returns whether all ranks ended and no message was cancelled.
  bool dismiss();

 private:
  struct RankState {
    Report report{};
    std::vector<Sample> samples{};  ///< samples of the report
    MPI_Request request = MPI_REQUEST_NULL;
    bool there = true;  ///< whether the rank answers
    std::string why;    ///< why its cells fail; empty: they do not
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
  std::list<std::vector<Order>> sent_;      ///< buffers of orders that MPI may still send to a lost rank
  std::list<std::vector<Question>> asked_;  ///< buffers of questions, likewise
  std::vector<Lost> lost_;
  int serial_ = 0;            ///< number of the last order
  bool clean_ = true;         ///< whether no message was cancelled
  bool asking_node_ = false;  ///< whether a check of a lost rank's node is running, to prevent recursion
};

}  // namespace linkmatrix::ranks
