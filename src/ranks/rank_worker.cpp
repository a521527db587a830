#include "ranks/rank_worker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double sample_seconds = 0.0025;  // minimum; ranks start a few µs apart, 0.1 % of it
constexpr double longest_window = 0.1;     // seconds; on slow networks, windows get fewer messages
constexpr int most_repeats = 10000;
constexpr int first_round_trips = 100;         // maximum number of round trips to estimate the duration of one
constexpr std::uint64_t least_compared = MiB;  // minimum compared bytes per sample: 1 to 2 % of its time
constexpr double compared_per_second = 0.4e9;  // compared bytes per second of longer samples: up to 4 % of their time
constexpr int attempts_to_start_concurrently = 4;  // for a sample in which both directions start together
constexpr double parting = 2;                      // seconds to report a failure to the other ranks
constexpr std::uint64_t seed_step = 1000003;       // prime, so that seeds of different orders and ranks rarely coincide

bool is_latency(const Order& order) { return order.metric == Metric::latency; }

/// Returns whether data arrives at both ranks of a pair.
bool is_bidirectional(const Order& order) {
  return order.metric == Metric::bidirectional || (is_latency(order) && !order.one_sided);
}

/// Returns the repeats that make a sample long enough. seconds: duration of one repeat.
int repeats_for(double seconds) {
  return static_cast<int>(std::clamp(std::ceil(sample_seconds / std::max(seconds, 1e-9)), 1.0, 1.0 * most_repeats));
}

}  // namespace

Report RankWorker::perform(const Order& order) {
  Report report;
  report.serial = order.serial;
  samples_.clear();
  found_ = 0;
  const auto fail = [&](ReportStatus status, const std::string& why) {
    report.status = status;
    traffic_.known = traffic_.known && (order.task != Task::sample || order.same_node);  // some of it may have left
    put(report.text, why);
    if (mpi_.abandon() && order.task == Task::sample) payload_.renew();
    report.stuck = mpi_.is_stuck();
  };
  try {
    switch (order.task) {
      case Task::open_window:
        mpi_.open_window();
        break;
      case Task::reserve:
        payload_.share_by(order.sharing);
        order.bytes == 0 ? payload_.forget() : payload_.reserve(order.bytes);
        break;
      case Task::answer:
        answer(order, report);
        break;
      case Task::node:
        reply(node_facts(), report);
        break;
      case Task::traffic:
        reply(take_traffic(), report);
        break;
      case Task::poll:
        reply(poll_.now(payload_), report);
        break;
      case Task::state:
        reply(payload_.device() != nullptr ? payload_.device()->state() : DeviceState(), report);
        break;
      case Task::sample:
        sample(order, report);
        break;
      case Task::end:
        break;
    }
  } catch (const TimedOut& e) {
    fail(ReportStatus::timeout, e.what());
  } catch (const BadInput& e) {
    fail(ReportStatus::refused, e.what());
  } catch (const Alarmed& e) {
    fail(ReportStatus::error, e.what());
  } catch (const std::exception& e) {
    fail(ReportStatus::error, e.what());
    call_alarm(order, e.what());
  }
  mpi_.stop_listening();
  report.samples = static_cast<int>(samples_.size());
  report.wrong_bytes = found_;  // also if the cell failed afterwards
  return report;
}

template <class T>
void RankWorker::reply(const T& value, Report& report) {
  reply_ = pack(value);
  report.reply_bytes = reply_.size();
}

void RankWorker::answer(const Order& order, Report& report) {
  if (mpi_.rank() != 0) {
    question_.resize(order.bytes);
    mpi_.receive_bytes(question_.data(), question_.size(), 0, question_tag);
    mpi_.finish(Deadline::in(order.time_limit));
  }
  traffic_.known = false;  // bytes of the payload are not counted
  reply_ = payload_.answer(question_);
  report.reply_bytes = reply_.size();
}

void RankWorker::sample(const Order& order, Report& report) {
  const Deadline deadline = Deadline::in(order.time_limit);
  mpi_.listen(tag_of(order.serial, MessageKind::alarm), others_of(order));
  order.pair.front().source == mpi_.rank() ? lead(order, deadline, report) : follow(order, deadline);
}

/// Returns the other ranks of the cell.
std::vector<int> RankWorker::others_of(const Order& order) const {
  std::vector<int> others;
  for (const RankPair& pair : order.all_pairs())
    for (const int rank : {pair.source, pair.destination})
      if (rank != mpi_.rank()) others.push_back(rank);
  return others;
}

/// Reports a failure to the other ranks of the cell, so that they stop waiting.
void RankWorker::call_alarm(const Order& order, const std::string& why) {
  Alarm text;
  put(text, why);
  try {
    mpi_.stop_listening();
    for (const int rank : others_of(order))
      mpi_.send_bytes(&text, sizeof(text), rank, tag_of(order.serial, MessageKind::alarm));
    mpi_.finish(Deadline::in(parting));
  } catch (const std::exception&) {  // the other ranks wait until their time limit
    mpi_.abandon();
  }
}

void RankWorker::lead(const Order& order, Deadline deadline, Report& report) {
  sample_cell(order, first_step(order, deadline), deadline, report);
  report.verified = order.verify && order.bytes > 0;
  send_to_all(order, {}, deadline);
}

/// Takes samples until the stop rule ends the cell.
void RankWorker::sample_cell(const Order& order, const Step& step, Deadline deadline, Report& report) {
  Sampled cell;
  const Deadline enough = Deadline::in(order.enough_after);
  report.copies = order.metric == Metric::bidirectional ? 2 * order.pairs : order.pairs;
  cell.bytes = report.bytes = bytes_of(order);
  cell.transfers = report.transfers = transfers_of(order, step);
  std::vector<double> values;
  ClockComparison clocks;
  const auto began = Clock::now();
  do {
    const PairSample taken = take_sample(order, step, deadline, clocks);
    report.started_together = report.started_together && taken.started_together;
    samples_.push_back(taken.sample);
    values.push_back(value_of(order.metric, cell, taken.sample));
  } while (!order.stop.done(values, seconds_since(began)) && !enough.passed());
  const std::string disagreement = clocks.disagreement(order.all_pairs());
  if (disagreement.empty()) return;
  report.status = ReportStatus::clocks;
  put(report.text, disagreement);
}

/// Returns a sample in which both directions started together, if possible.
PairSample RankWorker::take_sample(const Order& order, const Step& step, Deadline deadline, ClockComparison& clocks) {
  PairSample taken;
  for (int attempt = 0; attempt < attempts_to_start_concurrently; ++attempt) {
    const std::vector<PairTimes> times = step_all(order, step, deadline);
    clocks.add(times);
    taken = sample_of(order, step, times);
    const double seconds = taken.sample.whole.seconds();
    if (!(seconds > 0)) throw DeviceError("a step was timed at " + std::to_string(seconds) + " s: the clock is wrong");
    if (taken.started_together) break;
  }
  return taken;
}

/// Returns the duration of one repeat of a step.
double RankWorker::seconds_of(const Order& order, const Step& step, Deadline deadline) {
  return sample_of(order, step, step_all(order, step, deadline)).sample.whole.seconds() / step.repeats;
}

/// Warms up, and returns the step with the numbers of messages and repeats of a sample.
Step RankWorker::first_step(const Order& order, Deadline deadline) {
  Step step{Step::Kind::sample, 1, 1, order.verify ? order.bytes : 0};
  seconds_of(order, step, deadline);
  step.compared = 0;
  if (order.transfers > 0) {
    step.messages = is_latency(order) ? 1 : std::min(order.transfers, order.window);
    step.repeats = std::max(1, static_cast<int>(order.transfers / transfers_of(order, step)));
    return step;
  }
  step.repeats = std::max(1, order.warmup);
  if (!is_latency(order)) {
    const double fitting = longest_window / std::max(seconds_of(order, step, deadline), 1e-9);
    step.messages = static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(order.window)));
  }
  double seconds = seconds_of(order, step, deadline);
  step.repeats = repeats_for(seconds);
  if (is_latency(order)) {  // one round trip is too noisy
    step.repeats = std::min(step.repeats, first_round_trips);
    seconds = seconds_of(order, step, deadline);
    step.repeats = repeats_for(seconds);
  }
  const auto affordable = static_cast<std::uint64_t>(step.repeats * seconds * compared_per_second);
  if (order.verify) step.compared = std::min(order.bytes, std::max(least_compared, affordable));
  return step;
}

void RankWorker::send_to_all(const Order& order, const Step& step, Deadline deadline) {
  for (const int rank : others_of(order))
    mpi_.send_bytes(&step, sizeof(step), rank, tag_of(order.serial, MessageKind::control));
  mpi_.finish(deadline);
}

/// Executes one step on all ranks of the cell, and returns the times per pair.
std::vector<PairTimes> RankWorker::step_all(const Order& order, const Step& step, Deadline deadline) {
  const int answer = tag_of(order.serial, MessageKind::answer);
  const auto pairs = order.all_pairs();
  send_to_all(order, step, deadline);
  std::vector<PairTimes> times(pairs.size());
  times.front().source = take_part(order, step, pairs.front(), deadline);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (k > 0) times[k].source = mpi_.receive<StepTimes>(pairs[k].source, answer, deadline);
    found_ += k > 0 ? times[k].source.wrong_bytes : 0;
    times[k].destination = mpi_.receive<StepTimes>(pairs[k].destination, answer, deadline);
    found_ += times[k].destination.wrong_bytes;
  }
  return times;
}

void RankWorker::follow(const Order& order, Deadline deadline) {
  const int leader = order.pair.front().source;
  const auto pairs = order.all_pairs();
  const auto mine = std::find_if(pairs.begin(), pairs.end(), [&](const RankPair& pair) {
    return pair.source == mpi_.rank() || pair.destination == mpi_.rank();
  });
  if (mine == pairs.end()) throw DeviceError("internal error: rank 0 sent this rank an order for other ranks");
  for (;;) {
    const Step step = mpi_.receive<Step>(leader, tag_of(order.serial, MessageKind::control), deadline);
    if (step.kind == Step::Kind::stop) return;
    mpi_.send(take_part(order, step, *mine, deadline), leader, tag_of(order.serial, MessageKind::answer), deadline);
  }
}

/// Counts the bytes of a transfer over the network, without headers and acknowledgements.
void RankWorker::count(const Exchange& x) {
  if (x.same_node || (x.transport != Transport::mpi && x.transport != Transport::staged)) return;
  const double bytes =
      static_cast<double>(x.order.bytes) * static_cast<double>(x.step.messages) * static_cast<double>(x.step.repeats);
  const bool both = is_bidirectional(x.order);
  if (x.first || both) traffic_.sent += bytes;
  if (!x.first || both) traffic_.received += bytes;
}

/// Returns the bytes since the previous request, and the current counters of the adapters.
Traffic RankWorker::take_traffic() {
  Traffic traffic = traffic_;
  traffic.adapters = adapter_traffic(interface_addresses());
  traffic_.known = true;
  return traffic;
}

/// Makes the transfers of a step. They start when both ranks are ready, and are complete when either rank returns.
///
/// Messages order the readings of the clocks: the second rank's `around` begins before and ends after the first rank's
/// `own`, and vice versa. See ClockComparison.
StepTimes RankWorker::transfer(const Exchange& x) {
  const auto send = [&] { mpi_.send(char{}, x.other, x.tag, x.deadline); };
  const auto receive = [&] { mpi_.receive<char>(x.other, x.tag, x.deadline); };
  const auto since = [](double start) { return steady_seconds() - start; };
  if (x.first) {
    receive();
    const double began = steady_seconds();
    send();
    StepTimes times = payload_.transfer(x);
    times.own = since(began);
    send();
    receive();
    times.around = since(began);
    return times;
  }
  const double arrived = steady_seconds();
  send();
  receive();
  const double began = steady_seconds();
  StepTimes times = payload_.transfer(x);
  receive();
  times.own = since(began);
  times.around = since(arrived);
  send();
  return times;
}

StepTimes RankWorker::take_part(const Order& order, const Step& step, const RankPair& pair, Deadline deadline) {
  const bool first = pair.source == mpi_.rank(), both = is_bidirectional(order);
  const int other = first ? pair.destination : pair.source;
  const auto seed_of = [&](int rank) {
    return (static_cast<std::uint64_t>(order.serial) + 1) * seed_step + static_cast<std::uint64_t>(rank);
  };
  const bool begins = std::exchange(connected_, order.serial) != order.serial;
  const bool compares = step.compared > 0 && (!first || both);
  if (begins && order.verify && (first || both)) payload_.fill(order.bytes, order.offset, seed_of(mpi_.rank()));
  if (compares) payload_.poison(order.bytes, order.offset, step.compared);
  const Exchange exchange{
      order, step, other, first, pair.transport, order.same_node, tag_of(order.serial, MessageKind::data), deadline};
  if (begins) payload_.connect(exchange);
  StepTimes times = transfer(exchange);
  count(exchange);
  if (compares) found_ += times.wrong_bytes = payload_.compare(order.bytes, order.offset, seed_of(other)).wrong_bytes;
  return times;
}

}  // namespace linkmatrix::ranks
