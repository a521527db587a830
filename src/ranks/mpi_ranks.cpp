#include "ranks/mpi_ranks.hpp"

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "core/limited_call.hpp"

namespace linkmatrix::ranks {
namespace {

// Seconds.
constexpr double grace = 3;          // from a cell's time limit until a silent rank is lost
constexpr double own_grace = 10;     // the same for rank 0, which may have to fill and compare buffers
constexpr double node_check = 2;     // for the other ranks on a lost rank's node to answer
constexpr double handing_over = 10;  // to send an order
constexpr double arriving = 5;       // for an announced message
constexpr auto pause = std::chrono::microseconds(20);  // between two polls, because measuring ranks may need the cores
constexpr int polls_before_pause = 1000;

constexpr const char* silent_rank = "it does not answer";

template <class Visit>
void for_each_rank(const Order& order, const Visit& visit) {
  for (const RankPair& pair : order.all_pairs())
    for (const int rank : {pair.source, pair.destination}) visit(rank);
}

}  // namespace

MpiRanks::MpiRanks(Communicator& mpi, RankWorker& own, std::vector<std::string> labels, std::vector<std::string> nodes,
                   const std::vector<NoDevice>& no_device)
    : mpi_{mpi}, own_{own}, labels_{std::move(labels)}, nodes_{std::move(nodes)}, states_(labels_.size()) {
  for (std::size_t rank = 0; rank < no_device.size(); ++rank) {
    const auto& [why, loss] = no_device[rank];
    if (why.empty()) continue;
    states_[rank].why = why, states_[rank].loss = loss;
    lost_.push_back({labels_[rank], why, loss});
  }
}

std::optional<std::string> MpiRanks::lost(int rank) const {
  const std::string& why = state_of(rank).why;
  return why.empty() ? std::nullopt : std::optional(why);
}

/// Returns the available ranks except this one.
std::vector<int> MpiRanks::others() const {
  std::vector<int> others;
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank)
    if (state_of(rank).there && rank != mpi_.rank()) others.push_back(rank);
  return others;
}

std::vector<CellAnswer> MpiRanks::sample(std::vector<Order> orders) {
  ++serial_;
  for (Order& order : orders) order.serial = serial_;
  const auto sent = sent_.insert(sent_.end(), std::move(orders));  // MPI needs a stable address
  std::vector<int> expected;
  const Order* mine = nullptr;
  double seconds = 0;
  for (const Order& order : *sent) {
    seconds = std::max(seconds, order.time_limit + grace);
    for_each_rank(order, [&](int rank) {
      if (rank == mpi_.rank()) {
        mine = &order;
        return;
      }
      send(order, rank);
      expected.push_back(rank);
    });
  }
  const Deadline deadline = Deadline::in(seconds);  // includes this rank's own part
  const bool left = hand_over();
  if (mine != nullptr) do_own(*mine, mine->time_limit);
  collect(serial_, expected, deadline);
  std::vector<CellAnswer> answers;
  for (const Order& order : *sent) answers.push_back(answer_to(order));
  if (left) sent_.erase(sent);
  return answers;
}

/// Executes an order on this rank. If MPI does not return, the supervisor ends the process.
void MpiRanks::do_own(const Order& order, double seconds) {
  const LimitedCall limited(seconds + own_grace, "MPI");
  RankState& own = state_of(mpi_.rank());
  own.report = own_.perform(order);
  clean_ = clean_ && !own.report.stuck;
}

void MpiRanks::reserve(std::uint64_t bytes, Transport sharing, double seconds) {
  Order order;
  order.task = Task::reserve;
  order.sharing = sharing;
  for (const std::uint64_t step : {std::uint64_t{0}, bytes}) {  // all ranks unmap buffers before any rank frees its own
    order.bytes = step;
    call_all(order, seconds);
  }
}

void MpiRanks::open_window(double seconds) {
  if (others().size() + 1 != states_.size())
    throw BadInput("one-sided transfers need a window of all ranks, and a rank does not answer");
  Order order;
  order.task = Task::open_window;
  call_all(order, seconds);
}

/// Executes an order on all available ranks, including this one. Throws BadInput with the first refusal.
void MpiRanks::call_all(const Order& order, double seconds) {
  call(others(), order, seconds, true);
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    const Report& report = states_[rank].report;
    if (is_available(static_cast<int>(rank)) && report.status != ReportStatus::ok)
      throw BadInput(labels_[rank] + ": " + text_of(report.text));
  }
}

bool MpiRanks::dismiss() {
  Order order;
  order.task = Task::end;
  order.serial = ++serial_;
  order.pairs = clean_ ? 1 : 0;
  sent_.push_back({order});
  for (const int rank : others()) send(sent_.back().front(), rank);
  return hand_over() && clean_;
}

/// Sends an order. Ignores failures, because the rank is lost when it does not answer.
void MpiRanks::send(const Order& order, int rank) {
  try {
    mpi_.send_bytes(&order, sizeof(order), rank, order_tag);
  } catch (const DeviceError& e) {
    lose(rank, e.what());
  }
}

/// Waits until all orders were sent. Returns false if one was not.
bool MpiRanks::hand_over() {
  try {
    mpi_.finish(Deadline::in(handing_over));
    return true;
  } catch (const std::exception&) {
    clean_ = false;
    mpi_.abandon();
    return false;
  }
}

/// Returns the request that receives the next report of a rank; MPI_REQUEST_NULL if MPI reports that the rank has
/// ended.
MPI_Request MpiRanks::listen(int rank) {
  RankState& state = state_of(rank);
  if (state.request == MPI_REQUEST_NULL)
    MPI_Irecv(&state.report, sizeof(Report), MPI_BYTE, rank, report_tag, MPI_COMM_WORLD, &state.request);
  return state.request;
}

/// Waits for a report of each expected rank. Ranks that do not answer are lost.
void MpiRanks::collect(int serial, const std::vector<int>& expected, Deadline deadline) {
  std::vector<int> finished(expected.size());
  std::vector<MPI_Status> statuses(expected.size());
  std::vector<MPI_Request> requests;
  std::set<int> missing(expected.begin(), expected.end());
  for (const int rank : expected) requests.push_back(listen(rank));
  for (std::uint64_t polls = 0; !missing.empty(); ++polls) {
    const bool late = deadline.passed();  // messages that have arrived are still received
    int count = 0;
    const int status =
        MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, finished.data(), statuses.data());
    if (count == MPI_UNDEFINED) break;  // no rank is left
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(finished[static_cast<std::size_t>(k)]);
      const int rank = expected[at];
      RankState& state = state_of(rank);
      state.request = MPI_REQUEST_NULL;
      if (status != MPI_SUCCESS && statuses[static_cast<std::size_t>(k)].MPI_ERROR != MPI_SUCCESS) continue;  // gone
      clean_ = clean_ && !state.report.stuck;
      // Receive samples immediately, because the rank cannot execute further orders before.
      std::vector<Sample> samples = take_samples(rank, state.report);
      if (state.report.serial == serial) {
        state.samples = std::move(samples);
        missing.erase(rank);
        continue;
      }
      requests[at] = listen(rank);
    }
    if (count == 0 && late) break;
    if (count == 0 && polls > polls_before_pause) std::this_thread::sleep_for(pause);
  }
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (missing.contains(expected[k])) state_of(expected[k]).request = requests[k];
  if (stop_signal == 0) give_up(missing);  // after a signal the ranks had no time to answer
}

/// Returns the samples that a leader sends after its report; none if they do not arrive.
std::vector<Sample> MpiRanks::take_samples(int rank, const Report& report) {
  std::vector<Sample> samples(static_cast<std::size_t>(std::max(0, report.samples)));
  if (samples.empty()) return samples;
  try {
    mpi_.receive_bytes(samples.data(), samples.size() * sizeof(Sample), rank,
                       tag_of(report.serial, MessageKind::samples));
    mpi_.finish(Deadline::in(arriving));
  } catch (const std::exception& e) {
    mpi_.abandon();
    if (stop_signal == 0) lose(rank, e.what());
    samples.clear();
  }
  return samples;
}

/// Marks silent ranks as lost, and checks whether the other ranks of their nodes still answer.
void MpiRanks::give_up(const std::set<int>& silent) {
  std::set<std::string> in_doubt;
  for (const int rank : silent) {
    const bool known = !is_available(rank);
    lose(rank, silent_rank);
    if (!known) in_doubt.insert(nodes_[static_cast<std::size_t>(rank)]);
  }
  if (in_doubt.empty() || asking_node_) return;
  std::vector<int> asked = others();
  std::erase_if(asked, [&](int rank) { return !in_doubt.contains(nodes_[static_cast<std::size_t>(rank)]); });
  if (asked.empty()) return;
  asking_node_ = true;
  Order order;
  order.task = Task::reserve;
  call(asked, order, node_check, false);
  asking_node_ = false;
}

/// Sends one order to several ranks and waits for their reports. here_too: also executes it on this rank. Returns the
/// order's serial number, because checks of silent ranks use later numbers.
int MpiRanks::call(const std::vector<int>& ranks, Order order, double seconds, bool here_too) {
  order.serial = ++serial_;
  sent_.push_back({order});
  for (const int rank : ranks) send(sent_.back().front(), rank);
  hand_over();
  if (here_too) do_own(order, seconds);
  collect(order.serial, ranks, Deadline::in(seconds));
  return order.serial;
}

void MpiRanks::lose(int rank, const std::string& why) {
  clean_ = false;
  RankState& state = state_of(rank);
  if (!std::exchange(state.there, false)) return;
  if (state.why.empty()) lost_.push_back({labels_[static_cast<std::size_t>(rank)], why, LossKind::process});
  state.why = why, state.loss = LossKind::process;
}

CellAnswer MpiRanks::answer_to(const Order& order) {
  const int leader = order.pair.front().source;
  CellAnswer answer{state_of(leader).report, {}};
  std::uint64_t wrong = 0;  // wrong bytes at any rank of the cell, even if the cell failed
  for_each_rank(order, [&](int rank) {
    const Report& report = state_of(rank).report;
    if (report.serial == order.serial) wrong = std::max(wrong, report.wrong_bytes);
  });
  const auto give_up_cell = [&](const std::string& why) {
    answer = {};
    answer.report.wrong_bytes = wrong;
    answer.report.status = ReportStatus::timeout;
    put(answer.report.text, why);
    return answer;
  };
  std::string silent;
  for_each_rank(order, [&](int rank) {
    if (!is_available(rank)) silent = labels_[static_cast<std::size_t>(rank)];
  });
  const bool in_time = answer.report.serial == order.serial;
  if (in_time) answer.samples = leader == mpi_.rank() ? own_.samples() : std::move(state_of(leader).samples);
  if (!silent.empty()) return give_up_cell(silent + " does not answer");
  if (!in_time) return give_up_cell("its ranks did not answer in time");
  if (answer.report.samples != static_cast<int>(answer.samples.size()))
    return give_up_cell("its samples did not arrive");
  for_each_rank(order, [&](int rank) {
    const Report& other = state_of(rank).report;
    if (answer.report.status == ReportStatus::timeout && other.status == ReportStatus::error &&
        other.serial == order.serial)
      answer.report.status = other.status, answer.report.text = other.text;
  });
  answer.report.wrong_bytes = std::max(answer.report.wrong_bytes, wrong);
  return answer;
}

}  // namespace linkmatrix::ranks
