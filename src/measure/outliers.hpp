#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

constexpr std::size_t most_controls = 4;

/// Returns the maximum number of outliers to measure again: at least 16, and 1 % of the cells of a large matrix,
/// limited to three quarters of the time of the matrix. 1 % is twice the number of random outliers if 0.5 % of the
/// measurements are disturbed.
std::size_t most_remeasured(std::size_t cells, std::size_t rounds);

/// Returns the fraction by which a cell may be worse than its reference or link class before it is measured again.
double outlier_limit(Metric metric);

/// Returns the fraction by which `after` is worse than `before`; negative if better.
double worse_by(Metric metric, double before, double after);

/// Returns the fraction by which a link class as a whole is worse than its references. worse: this fraction for each
/// cell. Returns 0 unless at least three quarters of the cells are worse by more than `limit`. Measuring a whole slow
/// class again would take longer than the matrix.
double class_shift(std::vector<double> worse, double limit);

/// Returns "2.5 %" for 0.025.
std::string percent(double fraction);

/// A cell and its deviation.
struct Standing {
  std::size_t index;  ///< index for the caller
  std::size_t row, column;
  std::string_view link_class;
  double worse;  ///< fraction by which the cell is worse than its reference, beyond the deviation of its class; without
                 ///< a reference, than the median of its class
};

/// Sorts outliers by the benefit of a remeasurement. First come cells with few other outliers in their row and column,
/// because a slow component affects many cells and a disturbance affects one. Then come links with both directions
/// slow, then the largest deviations. are_ends_same: whether row i and column i are the same endpoint, so that a cell
/// can be the reverse direction of another cell.
void order_by_need(std::vector<Standing>& outliers, std::span<const Standing> healthy, bool are_ends_same);

/// Chooses healthy control cells to measure again with the outliers, which distinguish a slow cell from a machine that
/// became slow. For each outlier: one cell of its class with the same source, one with the same destination, and one
/// with neither; each the closest to the median. Returns the callers' indices.
std::vector<std::size_t> choose_controls(std::span<const Standing> outliers, std::span<const Standing> healthy);

/// Returns the median fraction by which control cells were worse when they were measured again; negative: better.
/// Returns 0 if the change is within outlier_limit or the noise of the cells.
double control_change(const MatrixResult& result);

/// Sets result.control_change. Adds notes on outliers that were not measured again, with the reason `why`, and on
/// control cells that also got worse. again: number of outliers measured again.
void note_doubts(MatrixResult& result, std::size_t outliers, std::size_t again, std::string_view why);

}  // namespace linkmatrix
