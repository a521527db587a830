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

/// The ranks of an MPI job: hands them orders, waits for their reports, and knows who is there.
class MpiRanks final : public Ranks, public Correspondence {
 public:
  /// own: what this rank does itself. labels, nodes: of every rank, by number. no_device: why a rank's device does not
  /// work, an empty text where it does, likewise; empty: all do.
  MpiRanks(Communicator& mpi, RankWorker& own, std::vector<std::string> labels, std::vector<std::string> nodes,
           const std::vector<NoDevice>& no_device = {});

  std::vector<CellAnswer> sample(std::vector<Order> orders) override;
  bool is_there(int rank) const override { return !lost(rank); }
  CellStatus lost_as(int rank) const override { return state_of(rank).there ? CellStatus::error : CellStatus::timeout; }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }

  std::vector<Reply> ask(const std::vector<Question>& questions, double seconds) override;
  std::optional<std::string> lost(int rank) const override;
  LossKind lost_kind(int rank) const override { return state_of(rank).loss; }

  /// Has every rank make buffers of so many bytes. Throws BadInput with the first refusal.
  void reserve(std::uint64_t bytes, Transport sharing, double seconds);

  /// Has all ranks make the window of one-sided transfers. Throws BadInput.
  void open_window(double seconds);

  /// What each rank's device says of itself, by rank; nothing of ranks that are not there.
  std::vector<DeviceState> device_states();

  /// What each node says of itself, in the order of their first ranks; of one that does not answer only its name.
  std::vector<NodeFacts> node_facts();

  /// What others do where the ranks are, by their labels and their nodes', of those that are there.
  Activity polls();

  /// What each rank has moved over the network, and what its node's adapters say, by rank; nothing of ranks that are
  /// not there.
  std::vector<std::optional<Traffic>> traffic();

  /// Why they cannot end in order, one sentence; nothing if all answer and no message was ever given up.
  std::optional<std::string> disorder();

  /// Ends every rank that is there. Returns whether all were, and no message was ever given up.
  bool dismiss();

 private:
  struct RankState {
    Report report{};
    std::vector<Sample> samples{};  ///< that came with the report
    MPI_Request request = MPI_REQUEST_NULL;
    bool there = true;  ///< it answers
    std::string why;    ///< it takes no part, though it may answer; empty: it does
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
  std::list<std::vector<Order>> sent_;      ///< those that may still be under way to a rank that is lost
  std::list<std::vector<Question>> asked_;  ///< likewise
  std::vector<Lost> lost_;
  int serial_ = 0;
  bool clean_ = true;
  bool asking_node_ = false;  ///< whether the other ranks of a lost one's node are there
};

}  // namespace linkmatrix::ranks
