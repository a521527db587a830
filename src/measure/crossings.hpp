#pragma once

#include "measure/context.hpp"
#include "measure/matching_generator.hpp"

namespace linkmatrix {

/// The cells of pairs, one way or back, a round for each lane.
std::vector<Round> in_lanes(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                            bool back);

/// What groups reach each other with, into the result's matchings: all endpoints of a group send to as many of another
/// one, three times with other groups, and then four of them, twice. `out`: endpoints that take no part. How many of
/// these matchings were left out, for the time of the matrix was over.
std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const Places& places,
                              const std::vector<bool>& out);

}  // namespace linkmatrix
