#pragma once

#include "measure/context.hpp"
#include "measure/matching_generator.hpp"

namespace linkmatrix {

/// Returns the cells of pairs, one round per lane. back: use the reverse direction.
std::vector<Round> in_lanes(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                            bool back);

/// Measures the rates between groups into the result's matchings. All endpoints of a group send to endpoints of another
/// group, three times with different groups; then four endpoints per group do so, twice. out: endpoints that are
/// excluded. Returns the number of matchings skipped because of the time limit.
std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const Places& places,
                              const std::vector<bool>& out);

}  // namespace linkmatrix
