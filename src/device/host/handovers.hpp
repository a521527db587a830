#pragma once

#include <functional>

#include "core/clock.hpp"
#include "core/visibility.hpp"

namespace linkmatrix {

/// Returns whether to stop immediately, because the time of the run is over.
using Stop = std::function<bool()>;

/// Returns a watch that starts now.
HandoverWatch watch_handovers();
/// Records a poll.
void look(HandoverWatch& watch);

/// The two sides of a visibility test (core/visibility.hpp), each on its own thread. Flag and answer are initially 0.
/// watch: watch of this thread, started when the other side may begin to wait.
HandoverEnd write_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());
HandoverEnd check_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());

/// Reserves `rounds` round numbers and returns the first. The numbers are new to this process and to data that may
/// remain in memory.
std::uint64_t take_numbers(std::uint64_t rounds);

/// Returns the terms of new rounds. If less time than `most` remains, the patience is shortened, so that a lost flag is
/// detected before the deadline.
HandoverTerms make_terms(std::uint64_t rounds, WriteFault fault, const HandoverTimes& most, Deadline deadline);

/// Resets flag and answer to 0.
void reset_handovers(const HandoverPlace& place);

}  // namespace linkmatrix
