#pragma once

#include <string>
#include <utility>
#include <vector>

#include "measure/sampler.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"
#include "ranks/pair_sample.hpp"
#include "ranks/payload.hpp"
#include "ranks/rank_poll.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {

/// Executes orders of rank 0 on one rank. In a cell, the source of the first pair is the leader: it chooses the steps
/// and applies the stop rule.
class RankWorker {
 public:
  /// gpus: see RankPoll.
  RankWorker(Communicator& mpi, Payload& payload, const NodeRanks& ranks, GpuPoll gpus)
      : mpi_{mpi}, payload_{payload}, poll_{ranks, "/", std::move(gpus)} {}

  /// Executes one order and returns the report. Never throws: errors are in the report.
  Report perform(const Order& order);

  /// Returns the samples of the last report.
  const std::vector<Sample>& samples() const { return samples_; }

  /// Sets the question of the next order with Task::answer, on rank 0, which sends itself no messages.
  void set_question(std::vector<std::byte> question) { question_ = std::move(question); }
  /// Returns the last answer.
  const std::vector<std::byte>& reply() const { return reply_; }

 private:
  template <class T>
  void reply(const T& value, Report& report);
  void answer(const Order& order, Report& report);
  void sample(const Order& order, Report& report);
  void lead(const Order& order, Deadline deadline, Report& report);
  void follow(const Order& order, Deadline deadline);
  void sample_cell(const Order& order, const Step& step, Deadline deadline, Report& report);
  PairSample take_sample(const Order& order, const Step& step, Deadline deadline, ClockComparison& clocks);
  Step first_step(const Order& order, Deadline deadline);
  std::vector<int> others_of(const Order& order) const;
  void call_alarm(const Order& order, const std::string& why);
  void send_to_all(const Order& order, const Step& step, Deadline deadline);
  std::vector<PairTimes> step_all(const Order& order, const Step& step, Deadline deadline);
  double seconds_of(const Order& order, const Step& step, Deadline deadline);
  void count(const Exchange& exchange);
  Traffic take_traffic();
  StepTimes transfer(const Exchange& exchange);
  StepTimes take_part(const Order& order, const Step& step, const RankPair& pair, Deadline deadline);

  Communicator& mpi_;
  Payload& payload_;
  RankPoll poll_;
  std::vector<Sample> samples_;
  std::vector<std::byte> question_, reply_;
  int connected_ = 0;        ///< serial of the last order with Payload::connect()
  Traffic traffic_;          ///< bytes since the start, without adapters
  std::uint64_t found_ = 0;  ///< wrong bytes of the current order; on the leader, of all ranks
};

}  // namespace linkmatrix::ranks
