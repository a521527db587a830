#pragma once

#include "measure/context.hpp"

namespace linkmatrix {

/// What failed once more, when all others are done, and none of lost endpoints: disjoint cells, `at_once` of them, or
/// the whole rounds of what is measured together.
void retry(Context& context, std::size_t at_once);

}  // namespace linkmatrix
