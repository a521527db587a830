#pragma once

#include "measure/engine.hpp"
#include "measure/matching_generator.hpp"

namespace linkmatrix {

/// Maximum number of matchings before the pause, and number of matchings after the pause.
constexpr std::size_t most_search_matchings = 11, confirming_matchings = 3;

/// Minimum number of endpoints. Fewer endpoints need no more rounds for the whole matrix than for matchings.
constexpr std::size_t least_endpoints_for_matchings = 8;

/// Searches slow endpoints with few matchings, and writes MatrixResult::matchings and the measured cells of the last
/// result in the store. The caller has set its cells to not_applicable.
///
/// 1. Two random matchings of all endpoints.
/// 2. Some cells again with little traffic. If these are faster, all pairs share a bottleneck, and steps 3 and 4 are
///    skipped.
/// 3. While an endpoint is suspected (measure/suspicion.hpp): up to nine matchings of suspects with healthy endpoints.
/// 4. After a pause: three matchings that repeat the findings, one of them without other traffic. Slow cells without a
///    slow endpoint keep their partner.
///
/// Limits: a fault of a single path is found with probability rounds / endpoints. After options.max_seconds no further
/// matching starts, except the first two.
void measure_matchings(Sampler& sampler, const EndpointGroups& groups, const MeasureOptions& options, Deadline deadline,
                       Store& store);

}  // namespace linkmatrix
