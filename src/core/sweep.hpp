#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// Sizes from `low` to `high`, each `factor` (> 1) times the one before, whole bytes; `high` is always the last. From 0
/// on the second is 1.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t low, std::uint64_t high, double factor);

/// `count` sizes from `low` to `high`, the same for the same seed on every machine.
std::vector<std::uint64_t> random_sizes(std::size_t count, std::uint64_t low, std::uint64_t high, std::uint64_t seed);

/// Fits t = overhead + bytes / bandwidth to every cell of one test case, measured at several sizes, and adds the parts
/// fit_bandwidth, fit_overhead and fit_error to the last of the results. Does nothing for what is no bandwidth, or
/// where a cell was not measured at every size.
void fit_sweep(std::span<MatrixResult> results);

}  // namespace linkmatrix
