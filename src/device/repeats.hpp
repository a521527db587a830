#pragma once

#include <span>
#include <vector>

#include "device/backend.hpp"

namespace linkmatrix {

/// Repeats of a copy that make a sample long enough for the clock, from the seconds of one transfer. `copies`: of its
/// cell. `timing`: how they are let go, and so which clock it is.
int repeats_for(double seconds, std::span<const Copy> copies, Timing timing);

/// How often each of several copies that run at once is repeated so that none ends early and leaves the others to
/// themselves: from the seconds of one transfer of each. The slowest one at least `least` times, and as few times as
/// bring all to within 4 % of it.
std::vector<int> balanced_repeats(std::span<const double> seconds, int least);

/// The shortest of the spans over the longest.
double evenness(std::span<const Span> spans);

/// Warms up copies that run at once, and sets how often each is repeated in a sample.
/// `cell`: the copies of one of their cells. `even`: sets of them, by number, that are to be busy over the same time.
/// All throw as Backend::run. Returns the warm-up.
Timeline find_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, int warmup, Deadline until);

/// Warms up copies with one repeat of each, and sets repeats that make about so many transfers in a sample.
Timeline find_repeats_of(Backend& backend, std::vector<Copy>& copies, int transfers, Deadline until);

/// Sets them anew where the warm-up was so much slower than a sample, `timeline`, that this one was too short for the
/// clock. Whether it was.
bool lengthen_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, const Timeline& timeline, Deadline until);

}  // namespace linkmatrix
