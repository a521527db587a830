#pragma once

#include "measure/context.hpp"

namespace linkmatrix {

/// Measures outliers again, alone. The worse value remains, unless the cell was slow only together with the other cells
/// of its round; the result contains both values. Healthy cells are measured in the same way as controls and keep their
/// values, but wrong data of control cells also counts.
void remeasure_outliers(Context& context);

/// Measures cells of concurrent rounds alone, and records their loss. A stress measures all cells; else the worst and
/// some others.
void compare_with_isolated(Context& context);

/// Measures failed cells once more, except cells of lost endpoints. at_once: number of concurrent cells; rounds that
/// belong together are repeated as a whole.
void retry(Context& context, std::size_t at_once);

}  // namespace linkmatrix
