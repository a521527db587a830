#include "ranks/coordinator.hpp"

#include <algorithm>

namespace linkmatrix::ranks {
namespace {

/// Converts a report to a status. Wrong data has priority over other failures.
CellStatus status_of(const Report& report) {
  if (report.wrong_bytes > 0) return CellStatus::corrupt;
  if (report.status == ReportStatus::timeout) return CellStatus::timeout;
  return report.status == ReportStatus::ok ? CellStatus::ok : CellStatus::error;
}

Sampled missing(CellStatus status, const std::string& why) {
  Sampled cell;
  cell.status = status;
  cell.why = why;
  return cell;
}

Sampled sampled(CellAnswer answer) {
  const Report& report = answer.report;
  Sampled cell;
  cell.status = status_of(report);
  cell.why =
      report.wrong_bytes > 0 ? std::to_string(report.wrong_bytes) + " wrong bytes arrived" : text_of(report.text);
  cell.is_proven = cell.status == CellStatus::error && report.status == ReportStatus::clocks;
  cell.samples = std::move(answer.samples);
  cell.copies = static_cast<std::size_t>(report.copies);
  cell.bytes = report.bytes;
  cell.transfers = report.transfers;
  cell.started_together = report.started_together;
  cell.verified = report.verified;
  return cell;
}

}  // namespace

Order Coordinator::order_for(const CellIndex& index, const SampleRule& rule) const {
  Order order = form_;
  order.task = Task::sample;
  order.stop = rule.stop;
  order.verify = rule.verify;
  order.transfers = rule.transfers;
  order.bytes = form_.bytes == 0 ? 0 : std::max<std::uint64_t>(1, form_.bytes / rule.divide_bytes_by);
  order.time_limit = std::min(form_.time_limit, rule.until.seconds_left());
  order.enough_after = std::min(order.time_limit, rule.enough.seconds_left());
  const std::vector<RankPair> pairs = rounds_.pairs_of(index);
  order.pairs = static_cast<int>(pairs.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto from = static_cast<std::size_t>(pairs[k].source), to = static_cast<std::size_t>(pairs[k].destination);
    order.pair.at(k) = {pairs[k].source, pairs[k].destination, table_.route(from, to)};
    order.same_node = table_.same_node(from, to);  // all pairs of a cell have the same two nodes
  }
  return order;
}

std::vector<Sampled> Coordinator::sample(const Round& round, const SampleRule& rule) {
  std::vector<Sampled> cells(round.size());
  std::vector<std::size_t> asked;
  std::vector<Order> orders;
  for (std::size_t k = 0; k < round.size(); ++k) {
    if (!is_available(round[k])) {
      cells[k] = missing(lost_status(round[k]), "one of its ranks is lost");
    } else if (rule.until.passed()) {
      cells[k] = missing(CellStatus::timeout, "no time was left");
    } else {
      asked.push_back(k);
      orders.push_back(order_for(round[k], rule));
    }
  }
  if (asked.empty()) return cells;
  std::vector<CellAnswer> answers = ranks_.sample(std::move(orders));
  for (std::size_t k = 0; k < asked.size(); ++k) cells[asked[k]] = sampled(std::move(answers[k]));
  return cells;
}

std::vector<int> Coordinator::resources(const CellIndex& index) const {
  std::vector<int> ranks;
  for (const RankPair& pair : rounds_.pairs_of(index)) ranks.insert(ranks.end(), {pair.source, pair.destination});
  return ranks;
}

std::vector<Path> Coordinator::paths(const CellIndex& index) const {
  std::vector<Path> paths;
  for (const RankPair& pair : rounds_.pairs_of(index)) {
    const std::string &from = table_.endpoints()[static_cast<std::size_t>(pair.source)].label,
                      &to = table_.endpoints()[static_cast<std::size_t>(pair.destination)].label;
    paths.push_back({from, to});
    if (form_.metric == Metric::bidirectional) paths.push_back({to, from});
  }
  return paths;
}

CellStatus Coordinator::lost_status(const CellIndex& index) const {
  CellStatus status = CellStatus::error;
  for (const int rank : resources(index))
    if (!ranks_.is_available(rank) && ranks_.lost_status(rank) == CellStatus::timeout) status = CellStatus::timeout;
  return status;
}

bool Coordinator::is_available(const CellIndex& index) const {
  const std::vector<int> ranks = resources(index);
  return std::all_of(ranks.begin(), ranks.end(), [this](int rank) { return ranks_.is_available(rank); });
}

}  // namespace linkmatrix::ranks
