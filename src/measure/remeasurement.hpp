#pragma once

#include "measure/context.hpp"

namespace linkmatrix {

/// Cells that are worse than the median of their link class once more, alone, before anyone is alarmed. The worse of
/// both looks stays, unless the others of the round were slow with the cell; the result has both. Healthy ones in the
/// same way as controls: their values stay as they are, but wrong data is kept of them too.
void remeasure_outliers(Context& context);

/// Of rounds that were measured together because that was asked: cells alone, and what they lose to the others. Of a
/// stress all, else the worst and some others.
void compare_with_isolated(Context& context);

/// What failed once more, when all others are done, and none of lost endpoints: disjoint cells, `at_once` of them, or
/// the whole rounds of what is measured together.
void retry(Context& context, std::size_t at_once);

}  // namespace linkmatrix
