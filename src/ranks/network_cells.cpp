#include "ranks/network_cells.hpp"

#include <set>
#include <string>
#include <utility>

#include "core/units.hpp"
#include "ranks/cell_file.hpp"

namespace linkmatrix::ranks {
namespace {

void add_message_rates(MatrixResult& result) {
  for (std::size_t r = 0; r < result.values.rows(); ++r)
    for (std::size_t c = 0; c < result.values.columns(); ++c)
      if (result.values(r, c))
        result.part("message_rate", "message rate", "msg/s")(r, c) =
            *result.values(r, c) * 1e9 / static_cast<double>(result.size_bytes);
}

}  // namespace

std::unique_ptr<Store> NetworkCells::make_store(const RankRounds& rounds, bool few, Guarded<Record>& record) const {
  const std::size_t n = record.read([](const Record& r) { return r.results.back().rows.size(); });
  if (n > most_in_record) return in_file(rounds, few, record);
  auto cells = std::make_unique<ResultStore>(record);
  cells->change([&](MatrixResult& result) {
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < result.columns.size(); ++c)
        if (few || !rounds.has(r, c)) result.status(r, c) = CellStatus::not_applicable;
  });
  return cells;
}

std::unique_ptr<Store> NetworkCells::in_file(const RankRounds& rounds, bool few, Guarded<Record>& record) const {
  const auto [testcase, n] = record.read([](const Record& r) {
    return std::pair{r.results.back().testcase, r.results.back().rows.size()};
  });
  std::filesystem::path file = record_;
  file.replace_extension();
  file += "." + testcase + "." + std::to_string(matrix_case_.bytes) + ".npy";
  auto cells = std::make_unique<CellFile>(
      record, file, n, matrix_case_.metric == Metric::bidirectional,
      [&table = table_, by_node = matrix_case_.by_node](std::size_t r, std::size_t c) {
        return table.link_class(by_node, r, c);
      },
      few ? CellStatus::not_applicable : CellStatus::not_run);
  for (std::size_t r = 0; r < n && rounds.is_bisection(); ++r)
    for (std::size_t c = 0; c < n; ++c)
      if (!rounds.has(r, c)) cells->mark({r, c}, CellStatus::not_applicable);
  return cells;
}

void NetworkCells::finish(Store& store) const {
  store.finish();
  store.change([&](MatrixResult& result) {
    if (result.large)
      name_transports(result);
    else if (matrix_case_.by_node && matrix_case_.metric == Metric::bandwidth)
      add_message_rates(result);
  });
}

void NetworkCells::name_transports(MatrixResult& result) const {
  std::set<std::string> all;
  for (auto& one : result.large->classes)
    all.insert(one.transport = std::string(word(table_.route(one.name == inside_node))));
  if (all.size() > 1) result.transport = word(Transport::automatic);
}

}  // namespace linkmatrix::ranks
