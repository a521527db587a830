#pragma once

#include <optional>
#include <vector>

#include "core/result.hpp"
#include "measure/context.hpp"
#include "measure/matching_generator.hpp"
#include "measure/suspicion.hpp"

namespace linkmatrix {

/// Returns the bottleneck that all pairs share; nullopt if pairs are not slower with full traffic. Repeats some of the
/// cells, the last concurrent round, with little other traffic, and records them as controls.
std::optional<Matchings::SharedBottleneck> find_shared_bottleneck(Context& context, MatchingGenerator& generator,
                                                                  std::vector<Suspicion::Value> cells);

/// Returns the cells of pairs, one round per lane. back: use the reverse direction.
std::vector<Round> in_lanes(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                            bool back);

/// Measures the rates between groups into the result's matchings. All endpoints of a group send to endpoints of another
/// group, three times with different groups; then four endpoints per group do so, twice. out: endpoints that are
/// excluded. Returns the number of matchings skipped because of the time limit.
std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const Places& places,
                              const std::vector<bool>& out);

}  // namespace linkmatrix
