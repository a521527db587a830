#include "ranks/device/device_backend.hpp"

#include <algorithm>
#include <limits>

#include "core/units.hpp"
#include "device/cuda/shared_memory.hpp"
#include "ranks/mpi_transfers.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr int gate_attempts = 3;
constexpr double until_all_know = 150e-6;  // seconds from an order to open the gates to the opening
constexpr double grace = 3;                // additional seconds before a rank is lost

BufferName source_of(const Copy& copy) { return {copy.source, Role::source, copy.source_slot}; }
BufferName destination_of(const Copy& copy) { return {copy.destination, Role::destination, copy.destination_slot}; }

std::set<int> both_ends(const Copy& copy) { return {copy.source, copy.destination}; }
std::set<int> the_destination(const Copy& copy) { return {copy.destination}; }
/// Returns the devices that execute code for a copy: one, or both for a flag.
std::set<int> those_that_run(const Copy& copy) {
  if (copy.operation == Operation::flag) return both_ends(copy);
  return {copy.initiator()};
}

/// Returns the ranks that must map the buffer of another rank for a copy.
std::vector<std::pair<int, BufferName>> needs_of(const Copy& copy) {
  std::vector<std::pair<int, BufferName>> needs;
  for (const int rank : those_that_run(copy))
    for (const BufferName& name : {source_of(copy), destination_of(copy)})
      if (name.endpoint != rank) needs.emplace_back(rank, name);
  return needs;
}

constexpr double longest_order = 60;  // maximum wait in seconds for a rank that may be dead

double seconds_of(Deadline deadline) { return std::clamp(deadline.seconds_left(), 0.0, longest_order); }

}  // namespace

std::optional<std::string> DeviceBackend::refusal(const Copy& copy) const {
  if (copy.engine == Engine::mpi) return "ranks exchange messages, not copies: choose rank_to_rank_*";
  if (copy.operation == Operation::visibility)
    return "a visibility test needs both devices in one process: start p2p_matrix without mpirun";
  if (!copy.peer_access)
    return "copies without peer access need all GPUs in one process: start p2p_matrix without mpirun, or choose "
           "rank_to_rank_bandwidth_mpi with --transport staged";
  return std::nullopt;
}

std::vector<int> DeviceBackend::resources(const Copy& copy) const {
  const std::set<int> ends = both_ends(copy);
  return {ends.begin(), ends.end()};
}

std::optional<std::string> DeviceBackend::lost(int endpoint) const {
  if (const auto failed = failed_.find(endpoint); failed != failed_.end()) return failed->second;
  return ranks_.lost(endpoint);
}

LossKind DeviceBackend::lost_kind(int endpoint) const {
  if (short_of_memory_.contains(endpoint)) return LossKind::memory;
  return ranks_.lost(endpoint) ? ranks_.lost_kind(endpoint) : LossKind::device;
}

/// Asks ranks. Throws CopiesFailed if a rank does not answer or its device fails, BadInput if all ranks refuse.
DeviceBackend::Answers DeviceBackend::ask(const std::map<int, DeviceOrder>& orders, std::span<const Copy> copies,
                                          Deadline deadline) {
  if (orders.empty()) return {};
  std::vector<Correspondence::Question> questions;
  for (const auto& [rank, order] : orders) questions.push_back({rank, pack(order)});
  const auto replies = ranks_.ask(questions, seconds_of(deadline) + grace);
  Answers answers;
  std::map<int, CellStatus> failed;
  std::string why;
  std::size_t refused = 0;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const Correspondence::Reply& reply = replies[q];
    const int rank = questions[q].rank;
    if (reply.status == ReportStatus::ok) {
      answers[rank] = unpack<DeviceAnswer>(reply.bytes);
      continue;
    }
    failed[rank] = reply.status == ReportStatus::timeout ? CellStatus::timeout : CellStatus::error;
    failed_[rank] = why = reply.why;
    if (reply.status != ReportStatus::refused) continue;
    ++refused;
    short_of_memory_.insert(rank);
  }
  if (failed.empty()) return answers;
  if (refused == questions.size()) {  // all ranks refuse, so the request is impossible
    for (const auto& [rank, status] : failed) failed_.erase(rank), short_of_memory_.erase(rank);
    throw BadInput(why);
  }
  std::vector<CopiesFailed::Failure> failures;
  for (std::size_t k = 0; k < copies.size(); ++k)
    for (const int end : both_ends(copies[k]))
      if (failed.contains(end)) failures.push_back({k, failed[end], end});
  throw CopiesFailed(why, std::move(failures));
}

/// Asks all ranks that take part in a copy.
DeviceBackend::Answers DeviceBackend::ask_parts(const DeviceOrder& form, std::span<const Copy> copies, Parts parts,
                                                Deadline deadline) {
  std::map<int, DeviceOrder> orders;
  for (std::size_t k = 0; k < copies.size(); ++k)
    for (const int rank : parts(copies[k])) {
      DeviceOrder& order = orders.try_emplace(rank, form).first->second;
      order.kind = kind_;
      order.time_limit = seconds_of(deadline);
      order.copies.push_back({k, copies[k]});
    }
  return ask(orders, copies, deadline);
}

void DeviceBackend::prepare(std::span<const Copy> copies, Deadline deadline) {
  reserve(copies, deadline);
  open(copies, deadline);
}

/// Replaces buffers that are too small. Ranks unmap the old buffers first.
void DeviceBackend::reserve(std::span<const Copy> copies, Deadline deadline) {
  std::map<BufferName, std::uint64_t> growing;
  for (const Copy& copy : copies)
    for (const BufferName& name : {source_of(copy), destination_of(copy)}) {
      const std::uint64_t bytes = std::max(copy.end(), cuda::least_shared_bytes);
      const auto made = made_.find(name);
      if (made == made_.end() || made->second.bytes < bytes) growing[name] = std::max(growing[name], bytes);
    }
  if (growing.empty()) return;
  std::map<int, DeviceOrder> closing, making;
  const auto order_to = [&](std::map<int, DeviceOrder>& orders, int rank, DeviceTask task) -> DeviceOrder& {
    DeviceOrder& order = orders[rank];
    order.task = task;
    order.kind = kind_;
    order.time_limit = seconds_of(deadline);
    return order;
  };
  for (const auto& [rank, name] : opened_)
    if (growing.contains(name) && !lost(rank)) order_to(closing, rank, DeviceTask::close).buffers.push_back({name});
  std::erase_if(opened_, [&](const auto& one) { return growing.contains(one.second); });
  std::erase_if(unopened_, [&](const auto& one) { return growing.contains(one.first.second); });
  for (const auto& [name, bytes] : growing) {
    made_.erase(name);
    order_to(making, name.endpoint, DeviceTask::reserve).buffers.push_back({name, bytes});
  }
  ask(closing, copies, deadline);
  for (const auto& [rank, answer] : ask(making, copies, deadline))
    for (const NamedBuffer& buffer : answer.buffers) made_[buffer.name] = buffer;
}

/// Lets ranks map the buffers that they need. If a device cannot access a buffer, only its copies fail.
void DeviceBackend::open(std::span<const Copy> copies, Deadline deadline) {
  std::map<int, DeviceOrder> opening;
  std::set<std::pair<int, BufferName>> asked;
  for (const Copy& copy : copies)
    for (const auto& need : needs_of(copy)) {
      if (unopened_.contains(need) || opened_.contains(need) || !asked.insert(need).second) continue;
      DeviceOrder& order = opening[need.first];
      order.task = DeviceTask::open;
      order.time_limit = seconds_of(deadline);
      order.buffers.push_back(made_.at(need.second));
    }
  const Answers answers = ask(opening, copies, deadline);
  opened_.insert(asked.begin(), asked.end());
  for (const auto& [rank, answer] : answers)
    for (const UnopenedBuffer& buffer : answer.unopened) {
      unopened_[{rank, buffer.name}] = text_of(buffer.why);
      opened_.erase({rank, buffer.name});
    }
}

void DeviceBackend::check_reachable(std::span<const Copy> copies) const {
  std::vector<CopiesFailed::Failure> failures;
  std::string why;
  for (std::size_t k = 0; k < copies.size(); ++k)
    for (const auto& need : needs_of(copies[k])) {
      const auto found = unopened_.find(need);
      if (found == unopened_.end()) continue;
      failures.push_back({k, CellStatus::error, std::nullopt});
      why = found->second;
      break;
    }
  if (!failures.empty()) throw CopiesFailed(why, std::move(failures));
}

Timeline DeviceBackend::run(std::span<const Copy> copies, Deadline deadline) {
  check_reachable(copies);
  std::vector<CopiesFailed::Failure> held;  // copies whose gates timed out in the last attempt
  for (int attempt = 0; attempt < gate_attempts; ++attempt) {
    DeviceOrder order;
    order.task = DeviceTask::arm;
    try {
      ask_parts(order, copies, those_that_run, deadline);
    } catch (const CopiesFailed&) {
      let_go(copies);
      throw;
    }
    order.task = DeviceTask::run;
    const double begin = steady_seconds();
    order.open_at = begin + until_all_know;
    const Answers answers = ask_parts(order, copies, those_that_run, deadline);
    const double seconds = steady_seconds() - begin;
    if (std::none_of(answers.begin(), answers.end(), [](const auto& one) { return one.second.timed_out; }))
      return timeline(copies, answers, seconds);
    held.clear();
    for (std::size_t k = 0; k < copies.size(); ++k)
      for (const int rank : those_that_run(copies[k]))
        if (const auto answer = answers.find(rank); answer != answers.end() && answer->second.timed_out)
          held.push_back({k, CellStatus::error, std::nullopt});
  }
  throw CopiesFailed("the common start of the ranks timed out " + std::to_string(gate_attempts) +
                         " times, because ranks did not enqueue their copies: check whether the node is overloaded",
                     held);
}

/// Opens the gates of the other ranks after a rank could not enqueue its copies. Their times are ignored.
void DeviceBackend::let_go(std::span<const Copy> copies) {
  std::map<int, DeviceOrder> orders;
  for (const Copy& copy : copies)
    for (const int rank : those_that_run(copy))
      if (!lost(rank)) orders[rank].time_limit = grace;
  try {
    ask(orders, {}, Deadline::in(grace));
  } catch (const std::exception&) {  // a failure here occurs again during the measurement
  }
}

/// Converts times to seconds after the first gate of each node, because clocks of nodes are not synchronized. seconds:
/// maximum duration of all copies.
Timeline DeviceBackend::timeline(std::span<const Copy> copies, const Answers& answers, double seconds) const {
  std::map<std::string, double> zero;
  for (const auto& [rank, answer] : answers) {
    const auto [at, is_new] = zero.try_emplace(node(rank), answer.opened);
    if (!is_new) at->second = std::min(at->second, answer.opened);
  }
  Timeline timeline;
  timeline.copies.resize(copies.size());
  std::size_t reported = 0;
  double shortest = std::numeric_limits<double>::max();
  for (const auto& [rank, answer] : answers)
    for (const CopyReport& report : answer.copies) {
      CopyTime& time = timeline.copies.at(report.number);
      time = report.time;
      ++reported;
      const double began = answer.opened - zero[node(rank)];
      time.span = {began + time.span.start, began + time.span.end};
      shortest = std::min(shortest, time.span.seconds());
    }
  if (reported != copies.size()) throw DeviceError("not every copy between ranks was timed");
  for (const auto& [rank, answer] : answers)
    if (answers.size() > 1) timeline.uncertainty = std::max(timeline.uncertainty, answer.uncertainty);
  if (zero.size() > 1) timeline.uncertainty = std::max(timeline.uncertainty, seconds - shortest);
  return timeline;
}

std::vector<PatternCheck> DeviceBackend::verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) {
  check_reachable(copies);
  std::vector<Copy> once(copies.begin(), copies.end());
  for (Copy& copy : once) {
    copy.operation = Operation::copy;  // a chain is verified by a copy over the same path
    copy.repeats = 1;
  }
  ask_parts({.task = DeviceTask::fill, .seed = seed}, once, both_ends, deadline);
  ask_parts({.task = DeviceTask::transfer}, once, those_that_run, deadline);
  std::vector<PatternCheck> checks(copies.size());
  std::size_t compared = 0;
  for (const auto& [rank, answer] :
       ask_parts({.task = DeviceTask::compare, .seed = seed}, once, the_destination, deadline))
    for (const CopyReport& report : answer.copies) checks.at(report.number) = report.check, ++compared;
  if (compared != copies.size()) throw DeviceError("not every copy between ranks was compared");
  return checks;
}

}  // namespace linkmatrix::ranks
