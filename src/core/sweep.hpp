#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// Returns sizes from `low` to `high` in whole bytes, each `factor` (> 1) times the previous size. `high` is always the
/// last size. If `low` is 0, the second size is 1.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t low, std::uint64_t high, double factor);

/// Returns `count` random sizes from `low` to `high`. The same seed returns the same sizes on every machine.
std::vector<std::uint64_t> random_sizes(std::size_t count, std::uint64_t low, std::uint64_t high, std::uint64_t seed);

/// Fits t = overhead + bytes / bandwidth to each cell of one test case measured at several sizes. Adds the parts
/// fit_bandwidth, fit_overhead and fit_error to the last result. Does nothing for metrics other than bandwidths, or if
/// a cell lacks a size.
void fit_sweep(std::span<MatrixResult> results);

}  // namespace linkmatrix
