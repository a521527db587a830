#include "ranks/conductor.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/schedule.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t most_notes = 20;

CellStatus status_of(Outcome outcome) { return outcome == Outcome::timeout ? CellStatus::timeout : CellStatus::error; }

}  // namespace

std::string Conductor::name(const Match& match) const {
  return result_->rows[match.row] + "->" + result_->columns[match.column];
}

void Conductor::reserve(std::uint64_t bytes, double seconds) {
  Order order;
  order.task = Task::reserve;
  for (const std::uint64_t step : {std::uint64_t{0}, bytes}) {  // all let go of each other's before anybody frees any
    order.bytes = step;
    ensemble_.call_all(order, seconds);
  }
}

void Conductor::open_window(double seconds) {
  if (!ensemble_.is_whole())
    throw BadInput("one-sided transfers need a window that all ranks make together, and one does not answer any more");
  Order order;
  order.task = Task::open_window;
  ensemble_.call_all(order, seconds);
}

/// Matches at the same time.
std::vector<Report> Conductor::play(std::span<const Match> matches, const Order& form) {
  std::vector<Order> orders;
  for (const Match& match : matches) {
    Order& order = orders.emplace_back(form);
    order.task = Task::match;
    order.lanes = static_cast<int>(match.lanes.size());
    std::copy(match.lanes.begin(), match.lanes.end(), order.lane.begin());
    route_(order);
  }
  std::vector<Report> reports = ensemble_.play(std::move(orders));
  for (std::string& text : ensemble_.take_news()) result_->notes.push_back(std::move(text));
  return reports;
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
    if (!ensemble_.is_there(match.lanes)) {
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
  std::erase_if(again, [this](const Match& match) { return !ensemble_.is_there(match.lanes); });
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

}  // namespace linkmatrix::ranks
