#pragma once

#include <vector>

#include "measure/context.hpp"
#include "measure/matching_generator.hpp"
#include "measure/suspicion.hpp"

namespace linkmatrix {

/// Returns whether pairs are slower with full traffic. Repeats some of the cells, the last concurrent round, with
/// little other traffic, and records them as controls.
bool is_slower_at_once(Context& context, MatchingGenerator& generator, std::vector<Suspicion::Value> cells);

}  // namespace linkmatrix
