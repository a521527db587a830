#pragma once

#include <functional>

#include "core/visibility.hpp"

namespace linkmatrix {

/// Whether to give up at once, and without a word: the time of the run is over.
using Stop = std::function<bool()>;

/// The two sides of a visibility test (core/visibility.hpp), each on a thread of its own. Flag and answer are 0 before.
HandoverEnd write_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop);
HandoverEnd check_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop);

/// The first of so many numbers that no round has had, of this process or of one whose data may still lie in memory.
std::uint64_t take_numbers(std::uint64_t rounds);

/// Puts flag and answer down.
void reset_handovers(const HandoverPlace& place);

}  // namespace linkmatrix
