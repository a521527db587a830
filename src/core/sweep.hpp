#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// Returns sizes from `low` to `high` in bytes, each `factor` (> 1) times the previous size, rounded. The last size is
/// `high`. If `low` is 0, the second size is 1.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t low, std::uint64_t high, double factor);

/// Returns `count` random sizes from `low` to `high` in bytes. The same seed returns the same sizes on every machine.
std::vector<std::uint64_t> random_sizes(std::size_t count, std::uint64_t low, std::uint64_t high, std::uint64_t seed);

/// Fits t = overhead + bytes / bandwidth to each cell. results: one test case at several sizes. Adds the parts
/// fit_bandwidth, fit_overhead and fit_error to the last result. Skips latencies, and cells that lack a size.
void fit_sweep(std::span<MatrixResult> results);

}  // namespace linkmatrix
