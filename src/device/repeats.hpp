#pragma once

#include <span>
#include <vector>

#include "device/backend.hpp"

namespace linkmatrix {

/// Returns the repeats of a copy that make a sample long enough for the clock. seconds: duration of one transfer.
/// copies: copies of its cell. timing: determines the clock.
int repeats_for(double seconds, std::span<const Copy> copies, Timing timing);

/// Returns the repeats of concurrent copies so that all end at about the same time. seconds: duration of one transfer
/// of each. The slowest copy repeats at least `least` times; the total times differ by at most 4 %.
std::vector<int> balanced_repeats(std::span<const double> seconds, int least);

/// Returns the shortest span divided by the longest.
double evenness(std::span<const Span> spans);

/// Warms up concurrent copies, and sets their repeats per sample. cell: the copies of one cell. even: sets of copies,
/// by index, that must be busy for the same time. Returns the warm-up. Throws as Backend::run.
Timeline find_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, int warmup, Deadline until);

/// Warms up copies with one repeat each, and sets repeats that make about `transfers` transfers per sample.
Timeline find_repeats_of(Backend& backend, std::vector<Copy>& copies, int transfers, Deadline until);

/// Increases the repeats if a sample (`timeline`) was too short for the clock, because the warm-up was much slower.
/// Returns whether repeats changed.
bool lengthen_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, const Timeline& timeline, Deadline until);

}  // namespace linkmatrix
