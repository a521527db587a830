#pragma once

namespace linkmatrix {

/// How often a waiting thread looks at memory before it gives its core away: whom it waits for may need that core.
constexpr int looks_between_yields = 4096;

}  // namespace linkmatrix
