#pragma once

#include <functional>

#include "core/clock.hpp"
#include "core/visibility.hpp"

namespace linkmatrix {

/// Whether to give up at once, and without a word: the time of the run is over.
using Stop = std::function<bool()>;

/// A watch that begins now.
HandoverWatch watch_handovers();
/// One more look.
void look(HandoverWatch& watch);

/// The two sides of a visibility test (core/visibility.hpp), each on a thread of its own. Flag and answer are 0 before.
/// `watch`: of this thread, from when on the other side may wait for it.
HandoverEnd write_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());
HandoverEnd check_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());

/// The first of so many numbers that no round has had, of this process or of one whose data may still lie in memory.
std::uint64_t take_numbers(std::uint64_t rounds);

/// The terms of so many new rounds. Where there is less time than `most` wants, what is never seen is given up before
/// that is over, and no cell of a lost flag is one that was late.
HandoverTerms make_terms(std::uint64_t rounds, WriteFault fault, const HandoverTimes& most, Deadline deadline);

/// Puts flag and answer down.
void reset_handovers(const HandoverPlace& place);

}  // namespace linkmatrix
