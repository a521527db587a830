#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// Maximum number of control cells per matrix.
constexpr std::size_t most_controls = 4;

/// Returns the maximum number of outliers to measure again: max(16, min(cells / 100, rounds / 4)). 1 % of the cells is
/// twice the number of random outliers if 0.5 % of the measurements are disturbed. With rounds / 4, three measurements
/// of each outlier take at most three quarters of the time of the rounds.
std::size_t most_remeasured(std::size_t cells, std::size_t rounds);

/// Returns the fraction by which a cell may be worse than its reference or class: 0.05 for latencies, else 0.02.
double outlier_limit(Metric metric);

/// Returns the fraction by which `after` is worse than `before`; negative if better.
double worse_by(Metric metric, double before, double after);

/// Returns the fraction by which a whole link class is worse than its references, because measuring all its cells again
/// would take longer than the matrix. worse: the fraction for each cell. Returns the first quartile of `worse` if it
/// exceeds `limit`, else 0. Returns 0 for fewer than five cells.
double class_shift(std::vector<double> worse, double limit);

/// Returns "2.5 %" for 0.025.
std::string percent(double fraction);

/// Deviation of a measured cell.
struct CellDeviation {
  std::size_t index;  ///< index of the caller's choice
  std::size_t row, column;
  std::string_view link_class;
  /// Fraction by which the cell is worse than its reference after class_shift(); without a reference, than the median
  /// of its class.
  double worse;
};

/// Sorts outliers by the benefit of a remeasurement:
///
/// 1. Cells with few other outliers in their row and column. A disturbance affects one cell, a slow component many.
/// 2. Links with two slow directions.
/// 3. Cells with the largest deviations.
///
/// are_ends_same: whether row i and column i are the same endpoint, so that (j, i) is the reverse direction of (i, j).
void sort_by_benefit(std::vector<CellDeviation>& outliers, std::span<const CellDeviation> healthy, bool are_ends_same);

/// Returns the indices of up to four healthy control cells. Measured again, they distinguish a slow cell from a machine
/// that became slow. For each outlier: one cell of its class with the same source, one with the same destination, and
/// one with neither, each with the smallest deviation.
std::vector<std::size_t> choose_controls(std::span<const CellDeviation> outliers,
                                         std::span<const CellDeviation> healthy);

/// Returns the median fraction by which the result's control cells became worse; negative: better. Returns 0 if the
/// change is within outlier_limit() or the noise of the cells.
double control_change(const MatrixResult& result);

/// Sets result.control_change. Adds a note if only `again` of `outliers` outliers were measured again (why: the
/// reason), and a note if control cells also became worse.
void note_remeasurement(MatrixResult& result, std::size_t outliers, std::size_t again, std::string_view why);

}  // namespace linkmatrix
