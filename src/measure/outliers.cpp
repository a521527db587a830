#include "measure/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t least_cap = 16;
constexpr std::size_t least_cells_of_class = 5;     // with fewer cells, disturbed cells look like a slow class
constexpr std::size_t outliers_of_single_cell = 2;  // a single outlier counts once in its row and once in its column
constexpr double bandwidth_outlier = 0.02;          // a lost link of 18 costs 5.6 %; healthy cells vary by 0.1 %
constexpr double latency_outlier = 0.05;            // load latencies vary by 4 % with the position of the memory

/// Returns 1.5 × the width of the median's interval, as a fraction of the value; 0 without an interval.
double noise(const MatrixResult& result, const Remeasured& cell) {
  if (result.low.empty()) return 0;
  const auto low = result.low(cell.row, cell.column), high = result.high(cell.row, cell.column);
  return low && high ? 1.5 * (*high - *low) / cell.before : 0;
}

/// Finds outliers whose reverse direction is an outlier too.
class ReverseOutliers {
 public:
  /// are_ends_same: see sort_by_benefit(); if false, no cell has a reverse direction.
  ReverseOutliers(std::span<const CellDeviation> outliers, bool are_ends_same) {
    if (are_ends_same)
      for (const CellDeviation& cell : outliers) cells_.emplace(cell.row, cell.column);
  }

  bool has_reverse_outlier(const CellDeviation& cell) const {
    return cell.row != cell.column && cells_.contains({cell.column, cell.row});
  }

 private:
  std::set<std::pair<std::size_t, std::size_t>> cells_;
};

/// Counts outliers per link class, row and column.
class LineOutliers {
 public:
  LineOutliers(std::span<const CellDeviation> outliers, std::span<const CellDeviation> healthy,
               const ReverseOutliers& reverse_outliers) {
    for (const CellDeviation& cell : outliers) add(cell, {1, reverse_outliers.has_reverse_outlier(cell) ? 0u : 1u});
    for (const CellDeviation& cell : healthy) add(cell, {});
    for (auto& [name, lines] : classes_) lines.by_chance = most_by_chance(lines);
  }

  /// Returns the outliers in a cell's row plus those in its column. The cell itself counts in both.
  std::size_t count(const CellDeviation& cell) const {
    const Lines& lines = classes_.at(cell.link_class);
    return lines.in_row.at(cell.row).outliers + lines.in_column.at(cell.column).outliers;
  }

  /// Returns by how many outliers the count exceeds the maximum number of random outliers.
  std::size_t beyond_chance(const CellDeviation& cell) const {
    const std::size_t by_chance = classes_.at(cell.link_class).by_chance;
    return std::max(count(cell), by_chance) - by_chance;
  }

 private:
  struct Count {
    std::size_t outliers = 0, one_way = 0;
  };
  struct Lines {
    std::map<std::size_t, Count> in_row, in_column;
    std::size_t by_chance = 0;
  };

  void add(const CellDeviation& cell, Count found) {
    Lines& lines = classes_[cell.link_class];
    for (Count* line : {&lines.in_row[cell.row], &lines.in_column[cell.column]}) {
      line->outliers += found.outliers;
      line->one_way += found.one_way;
    }
  }

  /// Returns the maximum number of random outliers in a row and a column: u + 3 √u, where u is twice the median per
  /// line. Counts only outliers whose reverse direction is healthy, because random outliers seldom affect both
  /// directions.
  static std::size_t most_by_chance(const Lines& lines) {
    std::vector<double> counts;
    for (const auto* direction : {&lines.in_row, &lines.in_column})
      for (const auto& [line, count] : *direction) counts.push_back(static_cast<double>(count.one_way));
    const double usual = 2 * median(std::move(counts));
    return std::max(outliers_of_single_cell, static_cast<std::size_t>(usual + 3 * std::sqrt(usual)));
  }

  std::map<std::string_view, Lines> classes_;
};

}  // namespace

std::string percent(double fraction) { return formatted("%.1f %%", 100 * fraction); }

std::size_t most_remeasured(std::size_t cells, std::size_t rounds) {
  return std::max(least_cap, std::min(cells / 100, rounds / 4));
}

void sort_by_benefit(std::vector<CellDeviation>& outliers, std::span<const CellDeviation> healthy, bool are_ends_same) {
  const ReverseOutliers reverse_outliers(outliers, are_ends_same);
  const LineOutliers line_outliers(outliers, healthy, reverse_outliers);
  using Need = std::tuple<std::size_t, bool, std::size_t, double, std::size_t>;
  std::vector<Need> needs;  // sort keys, calculated once because there may be half a million outliers
  needs.reserve(outliers.size());
  for (const CellDeviation& cell : outliers) {
    const std::size_t others = line_outliers.count(cell);
    needs.emplace_back(line_outliers.beyond_chance(cell), !reverse_outliers.has_reverse_outlier(cell), others,
                       -cell.worse, needs.size());
  }
  std::stable_sort(needs.begin(), needs.end());
  std::vector<CellDeviation> ordered;
  ordered.reserve(outliers.size());
  for (const Need& need : needs) ordered.push_back(outliers[std::get<4>(need)]);
  outliers = std::move(ordered);
}

double outlier_limit(Metric metric) { return metric == Metric::latency ? latency_outlier : bandwidth_outlier; }

double worse_by(Metric metric, double before, double after) {
  return metric == Metric::latency ? after / before - 1 : 1 - after / before;
}

double class_shift(std::vector<double> worse, double limit) {
  if (worse.size() < least_cells_of_class) return 0;
  const auto quarter = worse.begin() + static_cast<std::ptrdiff_t>((worse.size() - 1) / 4);
  std::nth_element(worse.begin(), quarter, worse.end());
  return *quarter > limit ? *quarter : 0;
}

std::vector<std::size_t> choose_controls(std::span<const CellDeviation> outliers,
                                         std::span<const CellDeviation> healthy) {
  std::vector<std::size_t> chosen;
  const auto add_nearest = [&](const auto& fits) {
    const CellDeviation* nearest = nullptr;
    for (const CellDeviation& cell : healthy)
      if (fits(cell) && std::find(chosen.begin(), chosen.end(), cell.index) == chosen.end() &&
          (nearest == nullptr || std::abs(cell.worse) < std::abs(nearest->worse)))
        nearest = &cell;
    if (nearest != nullptr && chosen.size() < most_controls) chosen.push_back(nearest->index);
  };
  for (const CellDeviation& outlier : outliers) {
    if (chosen.size() == most_controls) break;
    const auto related = [&](const CellDeviation& cell, bool row, bool column) {
      return cell.link_class == outlier.link_class && (cell.row == outlier.row) == row &&
             (cell.column == outlier.column) == column;
    };
    add_nearest([&](const CellDeviation& cell) { return related(cell, true, false); });
    add_nearest([&](const CellDeviation& cell) { return related(cell, false, true); });
    add_nearest([&](const CellDeviation& cell) { return related(cell, false, false); });
  }
  return chosen;
}

double control_change(const MatrixResult& result) {
  if (result.controls.empty()) return 0;
  std::vector<double> worse, noises;
  for (const Remeasured& cell : result.controls) {
    worse.push_back(worse_by(result.metric, cell.before, cell.after));
    noises.push_back(noise(result, cell));
  }
  const double usual = median(std::move(worse));
  return std::abs(usual) > std::max(outlier_limit(result.metric), median(std::move(noises))) ? usual : 0;
}

void note_remeasurement(MatrixResult& result, std::size_t outliers, std::size_t again, std::string_view why) {
  if (again < outliers)
    result.notes.push_back(std::to_string(outliers - again) + " of " + std::to_string(outliers) +
                           " outlying cells were not measured again: " + std::string(why));
  result.control_change = control_change(result);
  if (result.control_change > 0)
    result.notes.push_back("the control cells also got worse, by " + percent(result.control_change) +
                           ": all links were slower at that time, so the remeasurement confirms nothing");
}

}  // namespace linkmatrix
