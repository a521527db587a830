#include "measure/store.hpp"

#include <algorithm>

namespace linkmatrix {
namespace {

void put_parts(MatrixResult& result, const CellIndex& at, const CellValue& cell) {
  if (cell.enqueue_us) result.part("enqueue", "enqueue latency", "us")(at.row, at.column) = *cell.enqueue_us;
  if (cell.slowest_copy)
    result.part("slowest_copy", "slowest of its copies", "GB/s")(at.row, at.column) = *cell.slowest_copy;
}

}  // namespace

std::vector<CellIndex> value_places(const MatrixResult& result, const CellIndex& index) {
  const bool twice = result.metric == Metric::bidirectional && !result.triangle && result.rows == result.columns;
  if (!twice) return {index};
  return {index, {index.column, index.row}};
}

void ResultStore::put(const CellIndex& index, const CellValue& cell) {
  change([&](MatrixResult& result) {
    if (verified_.empty()) verified_ = Matrix<bool>(result.rows.size(), result.columns.size());
    const std::vector<CellIndex> all = value_places(result, index);
    for (std::size_t direction = 0; direction < all.size(); ++direction) {
      const auto& [r, c] = all[direction];
      CellStatus& status = result.status(r, c);
      if (status != CellStatus::corrupt) status = cell.status;
      result.values(r, c) = cell.value;
      result.low(r, c) = cell.low;
      result.high(r, c) = cell.high;
      result.samples(r, c) = cell.samples;
      result.converged(r, c) = cell.converged;
      result.round(r, c) = static_cast<std::uint32_t>(cell.round);
      result.began(r, c) = cell.began;
      result.ended(r, c) = cell.ended;
      if (!result.sampled.empty()) result.sampled(r, c) = cell.sampled;
      if (result.metric == Metric::bidirectional)
        result.part("one_direction", "one direction", "GB/s")(r, c) = cell.directions[direction];
      const bool was_good = verified_(r, c), is_good = status != CellStatus::corrupt && (cell.verified || was_good);
      if (is_good && !was_good) ++result.cells_verified;
      if (!is_good && was_good) --result.cells_verified;
      verified_(r, c) = is_good;
    }
    put_parts(result, index, cell);
  });
}

void ResultStore::mark(const CellIndex& index, CellStatus status) {
  change([&](MatrixResult& result) {
    for (const auto& [r, c] : value_places(result, index)) {
      const bool has_value = result.values(r, c).has_value();
      if (result.status(r, c) == CellStatus::corrupt || (has_value && status != CellStatus::corrupt)) continue;
      result.status(r, c) = status;
      if (has_value && verified_(r, c)) --result.cells_verified, verified_(r, c) = false;
    }
  });
}

void ResultStore::fail(const CellIndex& index, CellStatus status) {
  change([&](MatrixResult& result) {
    for (const auto& [r, c] : value_places(result, index)) {
      if (result.status(r, c) == CellStatus::corrupt) continue;
      result.status(r, c) = status;
      result.values(r, c) = result.low(r, c) = result.high(r, c) = std::nullopt;
      result.began(r, c) = result.ended(r, c) = std::nullopt;
      result.samples(r, c) = std::nullopt;
      result.converged(r, c) = std::nullopt;
      result.round(r, c) = std::nullopt;
      if (!result.sampled.empty()) result.sampled(r, c).clear();
      for (auto& [name, part] : result.parts) part.values(r, c) = std::nullopt;
      if (!verified_.empty() && verified_(r, c)) --result.cells_verified, verified_(r, c) = false;
    }
  });
}

std::optional<double> ResultStore::value(const CellIndex& index) const {
  return record_.read([&](const Record& record) { return record.results.back().values(index.row, index.column); });
}

CellStatus ResultStore::status(const CellIndex& index) const {
  return record_.read([&](const Record& record) { return record.results.back().status(index.row, index.column); });
}

std::optional<Interval> ResultStore::interval(const CellIndex& index) const {
  return record_.read([&](const Record& record) -> std::optional<Interval> {
    const MatrixResult& result = record.results.back();
    const auto low = result.low(index.row, index.column), high = result.high(index.row, index.column);
    if (!low || !high) return std::nullopt;
    return Interval{*low, *high};
  });
}

void ResultStore::add_lost(const Lost& endpoint) {
  record_.change([&](Record& record) {
    if (std::ranges::find(record.lost, endpoint.label, &Lost::label) ==
        record.lost.end())  // an earlier matrix may have added it
      record.lost.push_back(endpoint);
  });
}

void ResultStore::change(const std::function<void(MatrixResult&)>& change) {
  record_.change([&](Record& record) { change(record.results.back()); });
}

}  // namespace linkmatrix
