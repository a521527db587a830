#include "core/result.hpp"

#include <algorithm>

namespace linkmatrix {

void MatrixResult::set_labels(std::vector<std::string> row_labels, std::vector<std::string> column_labels) {
  rows = std::move(row_labels);
  columns = std::move(column_labels);
  const std::size_t r = rows.size(), c = columns.size();
  values = low = high = limit = began = ended = Values(r, c);
  status = Matrix<CellStatus>(r, c, CellStatus::not_applicable);
  samples = Matrix<std::optional<int>>(r, c);
  converged = Matrix<std::optional<bool>>(r, c);
  round = Matrix<std::optional<std::uint32_t>>(r, c);
  link_class = Matrix<std::string>(r, c);
  if (std::max(r, c) <= most_sampled) sampled = Matrix<std::vector<double>>(r, c);
}

std::size_t MatrixResult::cells(CellStatus wanted) const {
  if (large) {
    std::size_t found = 0;
    for (std::size_t k = 0; k < large->statuses.size(); ++k)
      if (large->statuses[k] == word(wanted)) found += large->counts[k];
    return found;
  }
  return static_cast<std::size_t>(std::count(status.begin(), status.end(), wanted));
}

std::size_t MatrixResult::cells_expected() const {
  return rows.size() * columns.size() - cells(CellStatus::not_applicable) - cells(CellStatus::no_peer_access);
}

std::vector<std::size_t> MatrixResult::short_sample_counts() const {
  std::vector<std::size_t> counts;
  for (std::size_t r = 0; r < values.rows() && short_samples; ++r)
    for (std::size_t c = 0; c < values.columns(); ++c) {
      if (!values(r, c)) continue;
      std::size_t& count = counts.emplace_back();
      for (const ShortSampleSet::Pass& pass : short_samples->passes) count += pass.values(r, c).size();
    }
  return counts;
}

std::optional<bool> MatrixResult::verified() const {
  if (!verify) return std::nullopt;
  const std::size_t with_data = cells(CellStatus::ok) + cells(CellStatus::partial);
  return cells(CellStatus::corrupt) == 0 && cells_verified == with_data && cells_verified > 0;
}

Values& MatrixResult::part(const std::string& name, const std::string& title, const std::string& part_unit) {
  const auto [at, inserted] = parts.try_emplace(name);
  if (inserted) at->second = {title, part_unit, Values(rows.size(), columns.size())};
  return at->second.values;
}

void MatrixResult::add_utilisation() {
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (values(r, c) && limit(r, c))
        part("utilisation", "utilisation", "%")(r, c) = 100 * *values(r, c) / *limit(r, c);
}

}  // namespace linkmatrix
