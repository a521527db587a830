// Members of MpiRanks for orders other than sampling: questions to payloads, facts, polls, and the end of the ranks.

#include <exception>
#include <set>

#include "core/error.hpp"
#include "ranks/mpi_ranks.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double asking = 5;         // time limit in seconds for facts and polls
constexpr double reply_seconds = 5;  // time limit in seconds for an announced reply

}  // namespace

std::vector<Correspondence::Reply> MpiRanks::ask(const std::vector<Question>& questions, double seconds) {
  const int serial = ++serial_;
  const auto asked = asked_.insert(asked_.end(), questions);  // MPI needs a stable address
  const auto sent = sent_.insert(sent_.end(), std::vector<Order>(questions.size()));
  std::vector<int> expected;
  const Order* mine = nullptr;
  for (std::size_t k = 0; k < questions.size(); ++k) {
    const auto& [rank, bytes] = (*asked)[k];
    Order& order = (*sent)[k];
    order.task = Task::answer;
    order.serial = serial;
    order.bytes = bytes.size();
    order.time_limit = seconds;
    if (rank == mpi_.rank()) {
      mine = &order;
      own_.set_question(bytes);
    } else if (is_available(rank)) {
      send(order, rank);
      mpi_.send_bytes(bytes.data(), bytes.size(), rank, question_tag);
      expected.push_back(rank);
    }
  }
  const bool left = hand_over();
  if (mine != nullptr) do_own(*mine, seconds);
  collect(serial, expected, Deadline::in(seconds));
  std::vector<Reply> replies;
  for (const Question& question : questions) {
    const auto why = lost(question.rank);
    replies.push_back(
        why ? Reply{ReportStatus::timeout, labels_[static_cast<std::size_t>(question.rank)] + ": " + *why, {}}
            : take_reply(question.rank, serial));
  }
  if (left) sent_.erase(sent), asked_.erase(asked);
  return replies;
}

Correspondence::Reply MpiRanks::take_reply(int rank, int serial) {
  const Report& report = state_of(rank).report;
  const std::string name = labels_[static_cast<std::size_t>(rank)] + ": ";
  if (!state_of(rank).there) return {ReportStatus::timeout, name + state_of(rank).why, {}};
  if (report.serial != serial) return {ReportStatus::timeout, name + "no answer in time", {}};
  if (report.status != ReportStatus::ok) return {report.status, text_of(report.text), {}};
  if (rank == mpi_.rank()) return {ReportStatus::ok, "", own_.reply()};
  Reply reply;
  reply.bytes.resize(report.reply_bytes);
  if (reply.bytes.empty()) return reply;
  try {
    mpi_.receive_bytes(reply.bytes.data(), reply.bytes.size(), rank, tag_of(serial, MessageKind::reply));
    mpi_.finish(Deadline::in(reply_seconds));
  } catch (const std::exception& e) {
    mpi_.abandon();
    if (stop_signal == 0) lose(rank, e.what());
    return {ReportStatus::timeout, name + e.what(), {}};
  }
  return reply;
}

std::vector<NodeFacts> MpiRanks::node_facts() {
  std::set<std::string> known;
  std::vector<int> leaders;  // the first available rank of each node
  for (int rank = 0; rank < static_cast<int>(nodes_.size()); ++rank)
    if (known.insert(nodes_[static_cast<std::size_t>(rank)]).second) leaders.push_back(rank);
  Order order;
  order.task = Task::node;
  std::vector<int> asked = leaders;
  std::erase_if(asked, [this](int rank) { return rank == mpi_.rank() || !state_of(rank).there; });
  const int serial = call(asked, order, asking, true);
  std::vector<NodeFacts> nodes;
  for (const int leader : leaders) {
    NodeFacts& node = nodes.emplace_back();
    node.name = nodes_[static_cast<std::size_t>(leader)];
    const Reply reply = take_reply(leader, serial);
    if (reply.status == ReportStatus::ok) node = unpack<NodeFacts>(reply.bytes);
  }
  return nodes;
}

/// Returns the reply of each available rank to a task without arguments.
template <class Take>
void MpiRanks::ask_all(Task task, const Take& take) {
  Order order;
  order.task = task;
  const int serial = call(others(), order, asking, true);
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank) {
    if (!state_of(rank).there) continue;
    const Reply reply = take_reply(rank, serial);
    if (reply.status == ReportStatus::ok && !reply.bytes.empty()) take(static_cast<std::size_t>(rank), reply.bytes);
  }
}

std::vector<DeviceState> MpiRanks::device_states() {
  std::vector<DeviceState> found(states_.size());
  ask_all(Task::state, [&](std::size_t rank, const auto& bytes) { found[rank] = unpack<DeviceState>(bytes); });
  return found;
}

std::vector<std::optional<Traffic>> MpiRanks::traffic() {
  std::vector<std::optional<Traffic>> found(states_.size());
  ask_all(Task::traffic, [&](std::size_t rank, const auto& bytes) { found[rank] = unpack<Traffic>(bytes); });
  return found;
}

Activity MpiRanks::polls() {
  Activity all;
  ask_all(Task::poll, [&](std::size_t rank, const auto& bytes) {
    add_poll(all, unpack<Activity>(bytes), labels_[rank], nodes_[rank]);
  });
  return all;
}

std::optional<std::string> MpiRanks::abnormal_end() {
  Order order;
  order.task = Task::reserve;
  call(others(), order, asking, false);
  for (const RankState& state : states_)
    if (!state.there) return labels_[static_cast<std::size_t>(&state - states_.data())] + " was lost: " + state.why;
  if (clean_) return std::nullopt;
  return "messages cancelled at --pair-timeout are still pending, so MPI cannot be finalized: see the notes for their "
         "pairs, or raise --pair-timeout";
}

std::optional<RankFailure> ask_ranks(Correspondence& ranks, int count, const std::vector<std::byte>& question,
                                     double seconds, const std::function<void(std::span<const std::byte>)>& take) {
  std::vector<Correspondence::Question> questions;
  for (int rank = 0; rank < count; ++rank) questions.push_back({rank, question});
  for (const auto& [status, why, bytes] : ranks.ask(questions, seconds)) {
    if (status == ReportStatus::refused) throw BadInput(why);
    if (status != ReportStatus::ok)
      return RankFailure{status == ReportStatus::timeout ? CellStatus::timeout : CellStatus::error, why};
    take(bytes);
  }
  return std::nullopt;
}

}  // namespace linkmatrix::ranks
