#pragma once

#include <span>
#include <vector>

#include "device/backend.hpp"

namespace linkmatrix {

/// Returns the number of repeats that makes a sample long enough for the clock. seconds: duration of one transfer.
/// copies: copies of the cell. timing: selects the clock.
int repeats_for(double seconds, std::span<const Copy> copies, Timing timing);

/// Returns repeats with which concurrent copies end at about the same time. seconds: duration of one transfer of each
/// copy. least: minimum repeats of the slowest copy. The total times differ by at most 4 %, if possible with 32
/// repeats.
std::vector<int> balanced_repeats(std::span<const double> seconds, int least);

/// Returns the duration of the shortest span divided by that of the longest.
double evenness(std::span<const Span> spans);

/// Warms up concurrent copies and sets their repeats. cell: copies of one of the cells. even: sets of copies, by index,
/// that must be busy for the same time. warmup: transfers per copy. Returns the last run. Throws as Backend::run.
Timeline find_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, int warmup, Deadline until);

/// Warms up copies with one repeat each, and sets repeats for about `transfers` transfers per sample. Returns the run.
Timeline find_repeats_for(Backend& backend, std::vector<Copy>& copies, int transfers, Deadline until);

/// Increases the repeats if the first sample (`timeline`) was too short for the clock, because the warm-up was slower.
/// Returns whether the repeats changed.
bool lengthen_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, const Timeline& timeline, Deadline until);

}  // namespace linkmatrix
