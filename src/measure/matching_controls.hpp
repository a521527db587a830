#pragma once

#include <optional>
#include <vector>

#include "core/result.hpp"
#include "measure/context.hpp"
#include "measure/matching_generator.hpp"
#include "measure/suspicion.hpp"

namespace linkmatrix {

/// Returns the bottleneck that all pairs share; nothing if pairs are not slower with full traffic.
///
/// cells: values of the last concurrent round. Measures up to 32 of them again with 1/16 of the concurrent pairs, and
/// records them as controls. A bottleneck needs a median loss of 5 % and a sign test with p <= 0.001.
std::optional<Matchings::SharedBottleneck> find_shared_bottleneck(Context& context, MatchingGenerator& generator,
                                                                  std::vector<Suspicion::Value> cells);

/// Returns one round per lane with the cells of the pairs. back: cells of the reverse direction.
std::vector<Round> lane_rounds(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                               bool back);

/// Measures the rates between groups and adds them to Matchings::crossings. In three matchings all endpoints of a group
/// exchange data with another group; in two further matchings four endpoints per group do. out: for each endpoint,
/// whether it is excluded. Returns the number of matchings that the time limit skipped.
std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const EndpointGroups& groups,
                              const std::vector<bool>& out);

}  // namespace linkmatrix
