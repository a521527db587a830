#pragma once

#include "measure/context.hpp"

namespace linkmatrix {

/// Measures each outlier three times alone. Its new value is the second worst of these four measurements. The record
/// contains the first value and the median of the three.
///
/// Healthy control cells are measured in the same way. They keep their values, but become corrupt if their data is
/// wrong.
void remeasure_outliers(Context& context);

/// Measures cells of concurrent rounds alone, and records the loss of their concurrent values in percent. Measures all
/// cells with Work::stress, else the worst cells and some others.
void compare_with_isolated(Context& context);

/// Measures failed cells once more, except cells of lost endpoints. at_once: maximum number of concurrent cells. With
/// Work::together or Work::stress, repeats the whole rounds of failed cells.
void retry(Context& context, std::size_t at_once);

}  // namespace linkmatrix
