#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

constexpr std::size_t most_controls = 4;

/// How many outliers of so many cells, measured in so many rounds, are measured again: 16; of large matrices one in a
/// hundred cells, which is twice what is disturbed by chance where 0.5 % of the looks are, as far as three looks at
/// each take no longer than three quarters of the matrix did.
std::size_t most_remeasured(std::size_t cells, std::size_t rounds);

/// By which fraction a cell may be worse than its reference, or than its link class, before it is measured again.
double outlier_limit(Metric metric);

/// By which fraction `after` is worse than `before`; below 0: better.
double worse_by(Metric metric, double before, double after);

/// By which fraction a link class is worse than its references as a whole, of those of its cells: at least three
/// quarters of them are by more than `limit`, which no chance does to each; otherwise 0. To measure them again tells
/// nothing, and would take longer than the matrix: what is disturbed in such a class is worse than its others.
double worse_as_a_whole(std::vector<double> worse, double limit);

/// "2.5 %" of 0.025.
std::string percent(double fraction);

/// Where a cell stands.
struct Standing {
  std::size_t index;  ///< the caller's
  std::size_t row, column;
  std::string_view link_class;
  double worse;  ///< than its reference, less what its class is as a whole, or without one than its median; a fraction
};

/// Outliers in the order in which they are worth another look. What a slow part has in common is seen by many cells,
/// each of which speaks for the others; a cell that was disturbed stands alone. So those come first that have the
/// fewest others of their class beside them in row and column, where as many as chance puts there in that class are
/// none; of these the links both of whose ways stand out, which only a second look tells from a slow link, as one way
/// that was disturbed is told by the other; and of these the worst. are_ends_same: row and column of the same number
/// are the same endpoint, so that a cell may be the other way of another; not from hosts to devices.
void order_by_need(std::vector<Standing>& outliers, std::span<const Standing> healthy, bool are_ends_same);

/// Healthy cells to be measured again beside outliers, in the same way, so that a cell which is slow can be told from a
/// machine which is slower by then. For each outlier in turn: one of its class from the same source, one to the same
/// destination, and one that shares neither; of several the one nearest to the median. The callers' indices.
std::vector<std::size_t> choose_controls(std::span<const Standing> outliers, std::span<const Standing> healthy);

/// Notes what a second measurement left open: outliers of which only `again` were measured again, with the reason, and
/// controls that got worse as well.
void note_doubts(MatrixResult& result, std::size_t outliers, std::size_t again, std::string_view why);

}  // namespace linkmatrix
