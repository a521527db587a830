#include "ranks/ensemble.hpp"

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "core/watchdog.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double grace = 3;          // seconds more than a pair's own, until a rank that says nothing is given up
constexpr double roll_call = 2;      // seconds for the other ranks of a node of which one was given up
constexpr double handing_over = 10;  // seconds for an order to leave
constexpr double asking = 5;         // seconds for what a rank knows of its device
constexpr auto pause = std::chrono::microseconds(20);  // between two looks: the cores may be the players'
constexpr int looks_before_pause = 1000;

}  // namespace

Ensemble::Ensemble(Wire& wire, Player& own, std::vector<std::string> labels, std::vector<std::string> nodes)
    : wire_{wire}, own_{own}, labels_{std::move(labels)}, nodes_{std::move(nodes)}, seats_(labels_.size()) {}

bool Ensemble::is_there(std::span<const Lane> lanes) const {
  return std::all_of(lanes.begin(), lanes.end(), [this](const Lane& lane) {
    return seat_of(lane.source).there && seat_of(lane.destination).there;
  });
}

bool Ensemble::is_whole() const {
  return std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.there; });
}

/// Every rank that is there but this one.
std::vector<int> Ensemble::others() const {
  std::vector<int> others;
  for (int rank = 0; rank < static_cast<int>(seats_.size()); ++rank)
    if (seat_of(rank).there && rank != wire_.rank()) others.push_back(rank);
  return others;
}

std::vector<Report> Ensemble::play(std::vector<Order> orders) {
  ++serial_;
  for (Order& order : orders) order.serial = serial_;
  const auto sent = sent_.insert(sent_.end(), std::move(orders));  // stays where it is
  std::vector<int> expected;
  const Order* mine = nullptr;
  double seconds = 0;
  for (const Order& order : *sent) {
    seconds = std::max(seconds, order.pair_timeout + grace);
    for (const Lane& lane : order.all_lanes())
      for (const int rank : {lane.source, lane.destination}) {
        if (rank == wire_.rank()) {
          mine = &order;
          continue;
        }
        send(order, rank);
        expected.push_back(rank);
      }
  }
  const bool left = hand_over();
  if (mine != nullptr) {
    Seat& seat = seat_of(wire_.rank());
    seat.report = own_.play(*mine);
    clean_ = clean_ && !seat.report.stuck;
  }
  collect(serial_, expected, seconds);
  std::vector<Report> reports;
  for (const Order& order : *sent) reports.push_back(verdict(order));
  if (left) sent_.erase(sent);
  return reports;
}

void Ensemble::call_all(Order order, double seconds) {
  call(others(), order, seconds, true);
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    const Report& report = seats_[rank].report;
    if (seats_[rank].there && report.outcome != Outcome::ok)
      throw BadInput(labels_[rank] + ": " + text_of(report.text));
  }
}

std::vector<DeviceState> Ensemble::device_states() {
  Order order;
  order.task = Task::state;
  call(others(), order, asking, true);
  std::vector<DeviceState> states(seats_.size());
  for (int rank = 0; rank < static_cast<int>(seats_.size()); ++rank) {
    if (!seat_of(rank).there || seat_of(rank).report.outcome != Outcome::ok) continue;
    DeviceState& state = states[static_cast<std::size_t>(rank)];
    try {
      state = rank == wire_.rank() ? own_.state().state()
                                   : wire_.receive<StateMessage>(rank, state_tag, Deadline::in(asking)).state();
    } catch (const std::exception&) {
      wire_.abandon();
      lose(rank);
    }
  }
  return states;
}

bool Ensemble::dismiss() {
  Order order;
  order.task = Task::end;
  order.serial = ++serial_;
  sent_.push_back({order});
  for (const int rank : others()) {
    sent_.back().front().lanes = clean_ ? 1 : 0;
    send(sent_.back().front(), rank);
  }
  return hand_over() && clean_;
}

/// Whom an order does not reach will not answer either.
void Ensemble::send(const Order& order, int rank) {
  try {
    wire_.send_bytes(&order, sizeof(order), rank, order_tag);
  } catch (const DeviceError&) {
    lose(rank);
  }
}

/// Waits until all orders have left; false where one did not.
bool Ensemble::hand_over() {
  try {
    wire_.finish(Deadline::in(handing_over));
    return true;
  } catch (const std::exception&) {
    clean_ = false;
    wire_.abandon();
    return false;
  }
}

/// Listens for a rank's next report; nothing where MPI says that it is gone.
MPI_Request Ensemble::listen(int rank) {
  Seat& seat = seat_of(rank);
  if (seat.request == MPI_REQUEST_NULL)
    MPI_Irecv(&seat.report, sizeof(Report), MPI_BYTE, rank, report_tag, MPI_COMM_WORLD, &seat.request);
  return seat.request;
}

/// Waits for a report of each expected rank; gives up those that do not answer.
void Ensemble::collect(int serial, const std::vector<int>& expected, double seconds) {
  std::vector<int> finished(expected.size());
  std::vector<MPI_Status> statuses(expected.size());
  std::vector<MPI_Request> requests;
  std::set<int> missing(expected.begin(), expected.end());
  for (const int rank : expected) requests.push_back(listen(rank));
  const Deadline deadline = Deadline::in(seconds);
  for (int looks = 0; !missing.empty() && !deadline.passed(); ++looks) {
    int count = 0;
    const int status =
        MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, finished.data(), statuses.data());
    if (count == MPI_UNDEFINED) break;  // nobody is left to listen for
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(finished[static_cast<std::size_t>(k)]);
      const int rank = expected[at];
      Seat& seat = seat_of(rank);
      seat.request = MPI_REQUEST_NULL;
      if (status != MPI_SUCCESS && statuses[static_cast<std::size_t>(k)].MPI_ERROR != MPI_SUCCESS) continue;  // gone
      clean_ = clean_ && !seat.report.stuck;
      if (seat.report.serial == serial)
        missing.erase(rank);
      else
        requests[at] = listen(rank);  // an answer to what was given up long ago
    }
    if (count == 0 && looks > looks_before_pause) std::this_thread::sleep_for(pause);
  }
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (missing.contains(expected[k])) seat_of(expected[k]).request = requests[k];
  if (stop_signal != 0) throw TimedOut(stop_reason());  // else all would be given up at once
  give_up(missing);
}

/// Leaves ranks out from now on, and asks the others of their nodes whether they are still there.
void Ensemble::give_up(const std::set<int>& silent) {
  std::set<std::string> in_doubt;
  for (const int rank : silent) {
    const bool known = !seat_of(rank).there;
    lose(rank);
    if (!known) in_doubt.insert(nodes_[static_cast<std::size_t>(rank)]);
  }
  if (in_doubt.empty() || calling_) return;
  std::vector<int> asked = others();
  std::erase_if(asked, [&](int rank) { return !in_doubt.contains(nodes_[static_cast<std::size_t>(rank)]); });
  if (asked.empty()) return;
  calling_ = true;
  Order order;
  order.task = Task::reserve;
  call(asked, order, roll_call, false);
  calling_ = false;
}

/// Has ranks do the same, or just answer; this one too where `here_too`.
void Ensemble::call(const std::vector<int>& ranks, Order order, double seconds, bool here_too) {
  order.serial = ++serial_;
  sent_.push_back({order});
  for (const int rank : ranks) send(sent_.back().front(), rank);
  hand_over();
  if (here_too) seat_of(wire_.rank()).report = own_.play(order);
  collect(order.serial, ranks, seconds);
}

void Ensemble::lose(int rank) {
  clean_ = false;
  if (!std::exchange(seat_of(rank).there, false)) return;
  news_.push_back(labels_[static_cast<std::size_t>(rank)] +
                  " does not answer any more: its further cells are not measured");
}

Report Ensemble::verdict(const Order& order) const {
  Report report = seat_of(order.lane.front().source).report;
  if (!is_there(order.all_lanes()) || report.serial != order.serial) {
    report = {};
    report.outcome = Outcome::timeout;
    put(report.text, "a rank does not answer");
    return report;
  }
  for (const Lane& lane : order.all_lanes())
    for (const int rank : {lane.source, lane.destination}) {
      const Report& other = seat_of(rank).report;
      if (report.outcome == Outcome::timeout && other.outcome == Outcome::error) report = other;
    }
  return report;
}

}  // namespace linkmatrix::ranks
