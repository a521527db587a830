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

}  // namespace linkmatrix
