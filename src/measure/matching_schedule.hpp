#pragma once

#include "measure/engine.hpp"
#include "measure/matching_generator.hpp"

namespace linkmatrix {

/// Maximum number of matchings before the confirmation, and number of confirming matchings.
constexpr std::size_t most_searching = 11, confirming = 3;

/// Minimum number of endpoints. With fewer endpoints the whole matrix needs no more rounds.
constexpr std::size_t least_for_matchings = 8;

/// Searches slow endpoints with few matchings, into the last result of the store's record, in which all cells are
/// initially not applicable.
///
/// Two random matchings of all endpoints come first. While an endpoint is suspected (measure/suspicion.hpp), further
/// matchings pair suspects with healthy endpoints. After a pause, findings are measured three more times, once without
/// other traffic. Slow cells without a slow endpoint are repeated with the same partner. Some cells of a random
/// matching are repeated with little other traffic. If pairs are slower with full traffic, they share a bottleneck, and
/// no endpoint is searched for.
///
/// A fault of a single path is found only with probability rounds / endpoints. After options.max_seconds only the first
/// two matchings run.
void measure_matchings(Sampler& sampler, const Places& places, const MeasureOptions& options, Deadline deadline,
                       Store& store);

}  // namespace linkmatrix
