#include "ranks/conductor.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/schedule.hpp"
#include "core/watchdog.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double grace = 3;          // seconds more than a pair's own, until a rank that says nothing is given up
constexpr double roll_call = 2;      // seconds for the other ranks of a node of which one was given up
constexpr double handing_over = 10;  // seconds for an order to leave
constexpr std::size_t most_notes = 20;
constexpr auto pause = std::chrono::microseconds(20);  // between two looks: the cores may be the players'
constexpr int looks_before_pause = 1000;

CellStatus status_of(Outcome outcome) { return outcome == Outcome::timeout ? CellStatus::timeout : CellStatus::error; }

}  // namespace

Conductor::Conductor(Wire& wire, Player& own, std::vector<std::string> labels, std::vector<std::string> nodes,
                     Route route)
    : wire_{wire},
      own_{own},
      labels_{std::move(labels)},
      nodes_{std::move(nodes)},
      route_{std::move(route)},
      seats_(labels_.size()) {}

std::string Conductor::name(const Match& match) const {
  return result_->rows[match.row] + "->" + result_->columns[match.column];
}

/// Whom an order does not reach will not answer either.
void Conductor::send(const Order& order, int rank) {
  try {
    wire_.send_bytes(&order, sizeof(order), rank, order_tag);
  } catch (const DeviceError&) {
    lose(rank);
  }
}

/// Waits until all orders have left; false where one did not.
bool Conductor::hand_over() {
  try {
    wire_.finish(Deadline::in(handing_over));
    return true;
  } catch (const std::exception&) {
    clean_ = false;
    wire_.abandon();
    return false;
  }
}

/// Every match's order, in sent_: a copy that stays where it is.
std::vector<Order> Conductor::orders_for(std::span<const Match> matches, const Order& form) {
  std::vector<Order> orders;
  for (const Match& match : matches) {
    Order& order = orders.emplace_back(form);
    order.task = Task::match;
    order.serial = serial_;
    order.lanes = static_cast<int>(match.lanes.size());
    std::copy(match.lanes.begin(), match.lanes.end(), order.lane.begin());
    route_(match, order);
  }
  return orders;
}

std::vector<Report> Conductor::play(std::span<const Match> matches, const Order& form) {
  ++serial_;
  const std::vector<Order>& orders = sent_.emplace_back(orders_for(matches, form));
  std::vector<int> expected;
  const Order* mine = nullptr;
  for (const Order& order : orders)
    for (const Lane& lane : order.all_lanes())
      for (const int rank : {lane.source, lane.destination}) {
        if (rank == wire_.rank()) {
          mine = &order;
          continue;
        }
        send(order, rank);
        expected.push_back(rank);
      }
  const bool left = hand_over();
  if (mine != nullptr) {
    Seat& seat = seats_[static_cast<std::size_t>(wire_.rank())];
    seat.report = own_.play(*mine);
    clean_ = clean_ && !seat.report.stuck;
  }
  collect(serial_, expected, form.pair_timeout + grace);
  std::vector<Report> reports;
  for (std::size_t m = 0; m < matches.size(); ++m) reports.push_back(verdict(matches[m], orders[m]));
  if (left) sent_.pop_back();
  return reports;
}

/// Listens for a rank's next report; nothing where MPI says that it is gone.
MPI_Request Conductor::listen(int rank) {
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  if (seat.request == MPI_REQUEST_NULL)
    MPI_Irecv(&seat.report, sizeof(Report), MPI_BYTE, rank, report_tag, MPI_COMM_WORLD, &seat.request);
  return seat.request;
}

/// Waits for a report of each expected rank; gives up those that do not answer.
void Conductor::collect(int serial, const std::vector<int>& expected, double seconds) {
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
      Seat& seat = seats_[static_cast<std::size_t>(rank)];
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
    if (missing.contains(expected[k])) seats_[static_cast<std::size_t>(expected[k])].request = requests[k];
  if (stop_signal != 0) throw TimedOut(stop_reason());  // else all would be given up at once
  give_up(missing);
}

/// Leaves ranks out from now on, and asks the others of their nodes whether they are still there.
void Conductor::give_up(const std::set<int>& silent) {
  std::set<std::string> in_doubt;
  for (const int rank : silent) {
    const bool known = !seats_[static_cast<std::size_t>(rank)].alive;
    lose(rank);
    if (!known) in_doubt.insert(nodes_[static_cast<std::size_t>(rank)]);
  }
  if (in_doubt.empty() || calling_) return;
  std::vector<int> others;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank)
    if (seats_[rank].alive && in_doubt.contains(nodes_[rank]) && static_cast<int>(rank) != wire_.rank())
      others.push_back(static_cast<int>(rank));
  if (others.empty()) return;
  calling_ = true;
  Order order;
  order.task = Task::reserve;
  call(others, order, roll_call);
  calling_ = false;
}

/// Has ranks do what needs no others, or just answer.
void Conductor::call(const std::vector<int>& ranks, Order order, double seconds) {
  order.serial = ++serial_;
  sent_.push_back({order});
  for (const int rank : ranks) send(sent_.back().front(), rank);
  hand_over();
  collect(order.serial, ranks, seconds);
}

void Conductor::lose(int rank) {
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  clean_ = false;
  if (!seat.alive) return;
  seat.alive = false;
  if (result_ != nullptr)
    result_->notes.push_back(labels_[static_cast<std::size_t>(rank)] +
                             " does not answer any more: its further cells are not measured");
}

void Conductor::reserve(std::uint64_t bytes, double seconds) {
  Order order;
  order.task = Task::reserve;
  for (const std::uint64_t step : {std::uint64_t{0}, bytes}) {  // all let go of each other's before anybody frees any
    order.bytes = step;
    call_all(order, seconds);
  }
}

void Conductor::open_window(double seconds) {
  if (std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.alive; }))
    throw BadInput("one-sided transfers need a window that all ranks make together, and one does not answer any more");
  Order order;
  order.task = Task::open_window;
  call_all(order, seconds);
}

/// Has every rank do something, this one too, all at the same time. Throws BadInput with the first refusal.
void Conductor::call_all(Order order, double seconds) {
  std::vector<int> others;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank)
    if (seats_[rank].alive && static_cast<int>(rank) != wire_.rank()) others.push_back(static_cast<int>(rank));
  order.serial = ++serial_;
  sent_.push_back({order});
  for (const int rank : others) send(sent_.back().front(), rank);
  hand_over();
  seats_[static_cast<std::size_t>(wire_.rank())].report = own_.play(order);
  collect(order.serial, others, seconds);
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    const Report& report = seats_[rank].report;
    if (seats_[rank].alive && report.outcome != Outcome::ok)
      throw BadInput(labels_[rank] + ": " + text_of(report.text));
  }
}

bool Conductor::all_alive(const Match& match) const {
  return std::all_of(match.lanes.begin(), match.lanes.end(), [this](const Lane& lane) {
    return seats_[static_cast<std::size_t>(lane.source)].alive &&
           seats_[static_cast<std::size_t>(lane.destination)].alive;
  });
}

/// What came of a match: the leader's report, unless a rank of it was lost or another one says what went wrong.
Report Conductor::verdict(const Match& match, const Order& order) const {
  Report report = seats_[static_cast<std::size_t>(match.lanes.front().source)].report;
  if (!all_alive(match) || report.serial != order.serial) {
    report = {};
    report.outcome = Outcome::timeout;
    put(report.text, "a rank does not answer");
    return report;
  }
  for (const Lane& lane : match.lanes)
    for (const int rank : {lane.source, lane.destination}) {
      const Report& other = seats_[static_cast<std::size_t>(rank)].report;
      if (report.outcome == Outcome::timeout && other.outcome == Outcome::error) report = other;
    }
  return report;
}

void Conductor::settle(const Match& match, const Report& report) {
  if (report.outcome == Outcome::ok) {
    sink_->put(match.row, match.column, report);
    if (report.wrong_bytes > 0)
      result_->notes.push_back(name(match) + ": " + std::to_string(report.wrong_bytes) + " wrong bytes arrived");
    return;
  }
  sink_->mark(match.row, match.column, status_of(report.outcome));
  failed_.push_back(match);
  failures_.push_back(text_of(report.text));
}

/// A round's matches, `at_once` of them at a time; those of lost ranks are only marked.
void Conductor::play_round(std::span<const Match> matches, std::size_t at_once, const Order& form) {
  std::vector<Match> group;
  const auto flush = [&] {
    if (group.empty()) return;
    const std::vector<Report> reports = play(group, form);
    for (std::size_t m = 0; m < group.size(); ++m) settle(group[m], reports[m]);
    group.clear();
  };
  for (const Match& match : matches) {
    if (!all_alive(match)) {
      sink_->mark(match.row, match.column, CellStatus::timeout);
      continue;
    }
    group.push_back(match);
    if (group.size() >= at_once) flush();
  }
  flush();
}

/// Each match that failed once more, when all others are done; disjoint ones at once, and none of a rank that is lost.
void Conductor::retry(const Order& form) {
  std::vector<Match> again = std::exchange(failed_, {});
  std::erase_if(again, [this](const Match& match) { return !all_alive(match); });
  failures_.clear();
  const auto rounds = pack_rounds(again.size(), [&](std::size_t m) {
    std::vector<int> ranks;
    for (const Lane& lane : again[m].lanes) ranks.insert(ranks.end(), {lane.source, lane.destination});
    return ranks;
  });
  for (const auto& round : rounds) {
    std::vector<Match> matches;
    for (const std::size_t m : round) matches.push_back(again[m]);
    play_round(matches, matches.size(), form);
  }
  const std::size_t healed = again.size() - std::min(again.size(), failed_.size());
  if (healed > 0 && !again.empty())
    result_->notes.push_back(std::to_string(again.size()) + " pairs failed at first, " +
                             std::to_string(failed_.size()) + " of them again when they were tried once more");
  for (std::size_t m = 0; m < std::min(failed_.size(), most_notes); ++m)
    result_->notes.push_back(name(failed_[m]) + ": " + failures_[m]);
  if (failed_.size() > most_notes)
    result_->notes.push_back("and " + std::to_string(failed_.size() - most_notes) + " more pairs failed");
}

bool Conductor::dismiss() {
  Order order;
  order.task = Task::end;
  order.serial = ++serial_;
  sent_.push_back({order});
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    if (static_cast<int>(rank) == wire_.rank() || !seats_[rank].alive) continue;
    sent_.back().front().lanes = clean_ ? 1 : 0;
    send(sent_.back().front(), static_cast<int>(rank));
  }
  return hand_over() && clean_;
}

}  // namespace linkmatrix::ranks
