#pragma once

#include <functional>

#include "core/clock.hpp"
#include "core/visibility.hpp"

namespace linkmatrix {

/// Returns whether the test must end immediately.
using Stop = std::function<bool()>;

/// Returns a watch that starts now, on the steady clock.
HandoverWatch watch_handovers();
/// Records a poll of the steady clock.
void record_poll(HandoverWatch& watch);

/// The two sides of a visibility test (core/visibility.hpp), each on its own thread. Flag and answer are initially 0.
/// watch: started when the other side may begin to wait.
HandoverEnd write_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());
HandoverEnd check_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch = watch_handovers());

/// Reserves `rounds` round numbers and returns the first. No earlier data contains these numbers.
std::uint64_t take_numbers(std::uint64_t rounds);

/// Returns the terms of a test with new round numbers. Reduces the times in `most` if the deadline is near, so that a
/// lost flag is detected before the deadline.
HandoverTerms make_terms(std::uint64_t rounds, WriteFault fault, const HandoverTimes& most, Deadline deadline);

/// Resets flag and answer to 0.
void reset_handovers(const HandoverPlace& place);

}  // namespace linkmatrix
