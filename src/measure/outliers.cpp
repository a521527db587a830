#include "measure/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

#include "core/statistics.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t least_cap = 16;
constexpr std::size_t fewest_of_a_class = 5;  // of fewer, nobody knows whether all are worse or each was disturbed
constexpr double bandwidth_outlier = 0.02;    // a lost link of 18 is 5.6 %, healthy cells vary by 0.1 %
constexpr double latency_outlier = 0.05;      // healthy loads vary by 4 % with the place of the memory on the chip

/// What a cell varies by itself, from the interval of its median.
double noise(const MatrixResult& result, const Remeasured& cell) {
  const auto low = result.low(cell.row, cell.column), high = result.high(cell.row, cell.column);
  return low && high ? 1.5 * (*high - *low) / cell.before : 0;
}

}  // namespace

std::string percent(double fraction) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << 100 * fraction << " %";
  return out.str();
}

std::size_t most_remeasured(std::size_t cells, std::size_t rounds) {
  return std::max(least_cap, std::min(cells / 100, rounds / 4));
}

void order_by_need(std::vector<Standing>& outliers) {
  using Line = std::pair<std::string_view, std::size_t>;
  std::map<Line, std::size_t> in_row, in_column;
  for (const Standing& cell : outliers) {
    ++in_row[{cell.link_class, cell.row}];
    ++in_column[{cell.link_class, cell.column}];
  }
  const auto beside = [&](const Standing& cell) {
    return in_row[{cell.link_class, cell.row}] + in_column[{cell.link_class, cell.column}];
  };
  std::stable_sort(outliers.begin(), outliers.end(), [&](const Standing& a, const Standing& b) {
    return std::pair(beside(a), -a.worse) < std::pair(beside(b), -b.worse);
  });
}

double outlier_limit(Metric metric) { return metric == Metric::latency ? latency_outlier : bandwidth_outlier; }

double worse_by(Metric metric, double before, double after) {
  return metric == Metric::latency ? after / before - 1 : 1 - after / before;
}

double worse_as_a_whole(std::vector<double> worse, double limit) {
  if (worse.size() < fewest_of_a_class) return 0;
  const auto quarter = worse.begin() + static_cast<std::ptrdiff_t>((worse.size() - 1) / 4);
  std::nth_element(worse.begin(), quarter, worse.end());
  return *quarter > limit ? *quarter : 0;
}

std::vector<std::size_t> choose_controls(std::span<const Standing> outliers, std::span<const Standing> healthy) {
  std::vector<std::size_t> chosen;
  const auto add_nearest = [&](const auto& fits) {
    const Standing* nearest = nullptr;
    for (const Standing& cell : healthy)
      if (fits(cell) && std::find(chosen.begin(), chosen.end(), cell.index) == chosen.end() &&
          (nearest == nullptr || std::abs(cell.worse) < std::abs(nearest->worse)))
        nearest = &cell;
    if (nearest != nullptr && chosen.size() < most_controls) chosen.push_back(nearest->index);
  };
  for (const Standing& outlier : outliers) {
    if (chosen.size() == most_controls) break;
    const auto related = [&](const Standing& cell, bool row, bool column) {
      return cell.link_class == outlier.link_class && (cell.row == outlier.row) == row &&
             (cell.column == outlier.column) == column;
    };
    add_nearest([&](const Standing& cell) { return related(cell, true, false); });
    add_nearest([&](const Standing& cell) { return related(cell, false, true); });
    add_nearest([&](const Standing& cell) { return related(cell, false, false); });
  }
  return chosen;
}

void note_doubts(MatrixResult& result, std::size_t outliers, std::size_t again, std::string_view why) {
  if (again < outliers)
    result.notes.push_back(std::to_string(outliers - again) + " of " + std::to_string(outliers) +
                           " outlying cells were not measured again: " + std::string(why));
  if (result.controls.empty()) return;
  std::vector<double> fell, noises;
  for (const Remeasured& cell : result.controls) {
    fell.push_back(worse_by(result.metric, cell.before, cell.after));
    noises.push_back(noise(result, cell));
  }
  const double usual = median(std::move(fell));
  if (usual > std::max(outlier_limit(result.metric), median(std::move(noises))))
    result.notes.push_back("the control cells got worse by " + percent(usual) +
                           " as well: everything was slower by then, so what was measured again proves nothing");
}

}  // namespace linkmatrix
