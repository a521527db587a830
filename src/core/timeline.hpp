#pragma once

#include <span>

namespace linkmatrix {

/// From the start to the end of something: seconds on the clock of its sample, whose zero means nothing.
struct Span {
  double start = 0, end = 0;
  double seconds() const { return end - start; }
};

/// From the first start to the last end. There must be a span.
Span hull(std::span<const Span> spans);

/// Whether copies that belong together ran at once: their starts lie no further apart than 5 % of the shortest. A slow
/// copy is no reason to throw a sample away; one that began late is.
bool started_together(std::span<const Span> spans);

}  // namespace linkmatrix
