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

/// A rank's part in what rank 0 orders. A cell has one pair of ranks or several, all at once; the source of the first
/// one leads: it says what comes next, and applies the order's rule of stopping.
class RankWorker {
 public:
  /// gpus: as of RankPoll.
  RankWorker(Communicator& mpi, Payload& payload, const NodeRanks& ranks, GpuPoll gpus)
      : mpi_{mpi}, payload_{payload}, poll_{ranks, "/", std::move(gpus)} {}

  /// Does one order; never throws: what went wrong is in the report.
  Report perform(const Order& order);

  /// The samples that the last report counts.
  const std::vector<Sample>& samples() const { return samples_; }

  /// What the next order to answer asks; of rank 0, which sends itself nothing.
  void set_question(std::vector<std::byte> question) { question_ = std::move(question); }
  /// What was answered last.
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
  void tell_all(const Order& order, const Step& step, Deadline deadline);
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
  int connected_ = 0;        ///< serial of the last order whose ranks know each other's memory
  Traffic traffic_;          ///< without what the adapters say
  std::uint64_t found_ = 0;  ///< wrong bytes of the order that is performed, of this rank and of those that told it
};

}  // namespace linkmatrix::ranks
