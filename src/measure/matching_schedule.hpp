#pragma once

#include "measure/engine.hpp"
#include "measure/matching_generator.hpp"

namespace linkmatrix {

/// Matchings that may be drawn before what they found is confirmed, and those that confirm it.
constexpr std::size_t most_searching = 11, confirming = 3;

/// Endpoints, below which a whole matrix takes no more rounds than a few matchings.
constexpr std::size_t least_for_matchings = 8;

/// Measures few cells of the last result of the store's record, in which no cell applies until it is chosen: two random
/// matchings of all endpoints; then, as long as an endpoint is suspect (measure/suspicion.hpp), a matching of suspects
/// with good ones; after a pause, whatever was found three times more, once of these with only those pairs at once; a
/// cell that was slow and no endpoint's fault again with the same partner. Some cells of a random matching are measured
/// again, few at once: where pairs are slower together, what they share is slow, and no endpoint is looked for.
///
/// A fault of one path is met with chance rounds / endpoints: whoever reads the record says what was not judged.
/// Once options.max_seconds are over no matching begins but the first two.
void measure_matchings(Sampler& sampler, const Places& places, const MeasureOptions& options, Deadline deadline,
                       Store& store);

}  // namespace linkmatrix
