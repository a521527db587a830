#include "ranks/player.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double sample_seconds = 0.0025;  // a sample lasts at least this: a few µs of skew are 0.1 % of it
constexpr double longest_window = 0.1;     // seconds; a slow network gets fewer messages in flight
constexpr double least_window = 1e-3;      // seconds, from which on a window tells its two directions apart
constexpr int most_repeats = 10000;
constexpr double parting = 2;           // seconds to tell the others that something failed
constexpr double simulated_rate = 0.8;  // of the fault "slow"

bool is_latency(const Order& order) { return order.metric == Metric::latency; }

/// Bytes that a lane moves in a step.
double bytes_of(const Order& order, const Step& step) {
  const double ways = order.metric == Metric::bidirectional ? 2 : 1;
  return ways * static_cast<double>(order.bytes) * step.messages * step.repeats;
}

/// Repeats that make a sample long enough, from the time of one.
int repeats_for(double seconds) {
  return static_cast<int>(std::clamp(std::ceil(sample_seconds / std::max(seconds, 1e-9)), 1.0, 1.0 * most_repeats));
}

}  // namespace

Report Player::play(const Order& order) {
  Report report;
  report.serial = order.serial;
  const auto fail = [&](Outcome outcome, const std::string& why) {
    report.outcome = outcome;
    put(report.text, why);
    if (wire_.abandon() && order.task == Task::match) payload_.renew();
    report.stuck = wire_.session().is_stuck();
  };
  try {
    if (order.task == Task::open_window) {
      wire_.open_window();
      return report;
    }
    if (order.task == Task::reserve) {
      order.bytes == 0 ? payload_.forget() : payload_.reserve(order.bytes);
      return report;
    }
    if (order.task == Task::state) {
      ask_device();
      return report;
    }
    const Deadline deadline = Deadline::in(order.pair_timeout);
    wire_.listen(tag_of(order.serial, Talk::alarm), others_of(order));
    order.lane.front().source == wire_.rank() ? lead(order, deadline, report) : follow(order, deadline, report);
  } catch (const TimedOut& e) {
    fail(Outcome::timeout, e.what());
  } catch (const BadInput& e) {
    fail(Outcome::refused, e.what());
  } catch (const Alarmed& e) {
    fail(Outcome::error, e.what());
  } catch (const std::exception& e) {
    fail(Outcome::error, e.what());
    call_alarm(order, e.what());
  }
  wire_.stop_listening();
  return report;
}

/// Rank 0 knows its own.
void Player::ask_device() {
  DeviceState found = payload_.state();
  if (fault_ == SimulatedFault::Kind::counter) found.counters["nvlink_replay"] += 5 * states_asked_++;
  state_ = StateMessage(found);
  if (wire_.rank() != 0) wire_.send_bytes(&state_, sizeof(state_), 0, state_tag);
}

/// All other ranks of the match.
std::vector<int> Player::others_of(const Order& order) const {
  std::vector<int> others;
  for (const Lane& lane : order.all_lanes())
    for (const int rank : {lane.source, lane.destination})
      if (rank != wire_.rank()) others.push_back(rank);
  return others;
}

/// Those who wait for this rank need not wait until their time is up.
void Player::call_alarm(const Order& order, const std::string& why) {
  Alarm text;
  put(text, why);
  try {
    wire_.stop_listening();
    for (const int rank : others_of(order))
      wire_.send_bytes(&text, sizeof(text), rank, tag_of(order.serial, Talk::alarm));
    wire_.finish(Deadline::in(parting));
  } catch (const std::exception&) {  // then they do
    wire_.abandon();
  }
}

void Player::lead(const Order& order, Deadline deadline, Report& report) {
  const Step step = first_step(order, deadline, report);
  report.window = step.messages;
  std::vector<double> values;
  std::array<double, 2> ways{};
  const auto lanes = static_cast<double>(order.lanes);
  do {
    const Taken taken = step_all(order, step, deadline, report);
    if (!(taken.seconds > 0)) throw DeviceError("a match was timed at " + std::to_string(taken.seconds) + " s");
    values.push_back(is_latency(order) ? taken.seconds / step.repeats * 1e6
                                       : lanes * bytes_of(order, step) / taken.seconds * 1e-9);
    for (std::size_t way = 0; way < ways.size(); ++way) ways[way] += report.one_direction[way];
  } while (!order.stop.done(values));
  const Interval interval = median_interval(values);
  report.value = median(values);
  report.low = interval.low;
  report.high = interval.high;
  report.samples = static_cast<int>(values.size());
  report.converged = order.stop.converged(values);
  for (std::size_t way = 0; way < ways.size(); ++way) report.one_direction[way] = ways[way] / report.samples;
  if (order.metric == Metric::bandwidth)
    report.messages_per_second = report.value * 1e9 / static_cast<double>(order.bytes);
  if (order.verify) report.wrong_bytes = step_all(order, {Step::Kind::verify, 1, 1}, deadline, report).wrong_bytes;
  tell_all(order, {Step::Kind::stop, 0, 0}, deadline);
}

/// Warms up, and finds how many messages and repeats make a sample.
Step Player::first_step(const Order& order, Deadline deadline, Report& report) {
  Step step{Step::Kind::sample, 1, 1};
  double seconds = step_all(order, step, deadline, report).seconds;
  step.repeats = std::max(1, order.warmup);
  if (!is_latency(order)) {
    seconds = step_all(order, step, deadline, report).seconds / step.repeats;
    const double fitting = longest_window / std::max(seconds, 1e-9);
    step.messages = static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(order.window)));
  }
  seconds = step_all(order, step, deadline, report).seconds / step.repeats;
  step.repeats = repeats_for(seconds);
  if (is_latency(order)) {  // one round trip says little
    step.repeats = std::min(step.repeats, 100);
    seconds = step_all(order, step, deadline, report).seconds / step.repeats;
    step.repeats = repeats_for(seconds);
  }
  return step;
}

void Player::tell_all(const Order& order, const Step& step, Deadline deadline) {
  for (const int rank : others_of(order))
    wire_.send_bytes(&step, sizeof(step), rank, tag_of(order.serial, Talk::control));
  wire_.finish(deadline);
}

Taken Player::step_all(const Order& order, const Step& step, Deadline deadline, Report& report) {
  const int from_all = tag_of(order.serial, Talk::answer);
  const auto lanes = order.all_lanes();
  tell_all(order, step, deadline);
  Taken all = take(order, step, lanes.front(), deadline);
  double sum = all.seconds, there = all.sent, back = all.received;
  for (const Lane& lane : lanes)
    for (const int rank : {lane.source, lane.destination}) {
      if (rank == wire_.rank()) continue;
      const bool is_source = rank == lane.source;
      const Taken taken = wire_.receive<Taken>(rank, from_all, deadline);
      all.seconds = std::max(all.seconds, taken.seconds);
      all.wrong_bytes += taken.wrong_bytes;
      all.stretch = std::max(all.stretch, taken.stretch);
      if (is_source) sum += taken.seconds;
      there = std::max(there, is_source ? taken.sent : taken.received);
      back = std::max(back, is_source ? taken.received : taken.sent);
    }
  if (is_latency(order)) all.seconds = sum / static_cast<double>(lanes.size());
  all.seconds *= all.stretch;
  if (order.metric == Metric::bidirectional) {
    // both ends begin a few µs apart, which says nothing of the directions where a window is as short
    if (all.seconds < least_window * step.repeats) there = back = all.seconds;
    const double bytes = bytes_of(order, step) / 2 * static_cast<double>(lanes.size());
    report.one_direction = {bytes / std::max(there, 1e-9) * 1e-9, bytes / std::max(back, 1e-9) * 1e-9};
  }
  return all;
}

void Player::follow(const Order& order, Deadline deadline, Report& report) {
  const int leader = order.lane.front().source;
  const auto lanes = order.all_lanes();
  const auto mine = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) {
    return lane.source == wire_.rank() || lane.destination == wire_.rank();
  });
  if (mine == lanes.end()) throw DeviceError("an order names no lane of this rank");
  for (;;) {
    const Step step = wire_.receive<Step>(leader, tag_of(order.serial, Talk::control), deadline);
    if (step.kind == Step::Kind::stop) return;
    const Taken taken = take(order, step, *mine, deadline);
    report.wrong_bytes += taken.wrong_bytes;
    wire_.send(taken, leader, tag_of(order.serial, Talk::answer), deadline);
  }
}

Taken Player::take(const Order& order, const Step& step, const Lane& lane, Deadline deadline) {
  const bool first = lane.source == wire_.rank();
  // a ping-pong too brings the bytes back, a put does not
  const bool both = order.metric == Metric::bidirectional || (order.metric == Metric::latency && !order.one_sided);
  const auto seed = static_cast<std::uint64_t>(order.serial) + 1;
  const auto of = [&](int rank) { return seed * 1000003 + static_cast<std::uint64_t>(rank); };
  const bool verify = step.kind == Step::Kind::verify && order.bytes > 0;
  const int other = first ? lane.destination : lane.source;
  if (verify) {
    if (first || both) payload_.fill(order.bytes, order.offset, of(wire_.rank()));
    if (!first || both) payload_.spoil(order.bytes, order.offset);
  }
  suffer(deadline);
  const Exchange exchange{
      order, step, other, first, lane.transport, order.same_node, tag_of(order.serial, Talk::data), deadline};
  if (std::exchange(met_, order.serial) != order.serial) payload_.meet(exchange);
  Taken taken = payload_.move(exchange);
  if (fault_ == SimulatedFault::Kind::slow) taken.stretch = 1 / simulated_rate;
  if (verify && (!first || both)) {
    taken.wrong_bytes = payload_.compare(order.bytes, order.offset, of(other)).wrong_bytes;
    if (fault_ == SimulatedFault::Kind::corrupt && taken.wrong_bytes == 0) taken.wrong_bytes = 1;
  }
  return taken;
}

void Player::suffer(Deadline deadline) const {
  if (fault_ == SimulatedFault::Kind::error) throw DeviceError("simulated fault: the device failed");
  if (fault_ != SimulatedFault::Kind::hang) return;
  std::this_thread::sleep_until(deadline.at());
  std::this_thread::sleep_for(std::chrono::hours(24));
}

}  // namespace linkmatrix::ranks
