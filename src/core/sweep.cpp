#include "core/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/statistics.hpp"

namespace linkmatrix {
namespace {

/// Returns the time of each size in one cell; empty if a size is missing.
std::vector<TransferTime> times_of(std::span<const MatrixResult> results, std::size_t row, std::size_t column) {
  std::vector<TransferTime> times;
  for (const MatrixResult& result : results) {
    const auto value = result.values(row, column);
    if (!value || result.status(row, column) != CellStatus::ok) return {};
    const auto bytes = static_cast<double>(result.size_bytes);
    times.push_back({bytes, bytes * 1e-9 / *value});
  }
  return times;
}

}  // namespace

std::vector<std::uint64_t> sweep_sizes(std::uint64_t low, std::uint64_t high, double factor) {
  std::vector<std::uint64_t> sizes;
  if (low == 0) sizes.push_back(0);
  for (auto size = static_cast<double>(std::max<std::uint64_t>(low, 1)); size < static_cast<double>(high);
       size *= factor) {
    const auto whole = static_cast<std::uint64_t>(std::llround(size));
    if (sizes.empty() || whole > sizes.back()) sizes.push_back(whole);
  }
  if (sizes.empty() || sizes.back() < high) sizes.push_back(high);
  return sizes;
}

std::vector<std::uint64_t> random_sizes(std::size_t count, std::uint64_t low, std::uint64_t high, std::uint64_t seed) {
  std::mt19937_64 engine(seed);  // standard libraries differ in their distributions, but not in this engine
  std::vector<std::uint64_t> sizes(count);
  std::generate(sizes.begin(), sizes.end(), [&] { return low + engine() % (high - low + 1); });
  return sizes;
}

void fit_sweep(std::span<MatrixResult> results) {
  if (results.size() < 2 || results.back().metric != Metric::bandwidth) return;
  MatrixResult& last = results.back();
  for (std::size_t r = 0; r < last.rows.size(); ++r)
    for (std::size_t c = 0; c < last.columns.size(); ++c) {
      const auto fit = fit_transfer(times_of(results, r, c));
      if (!fit) continue;
      last.part("fit_bandwidth", "fitted bandwidth", "GB/s")(r, c) = fit->bytes_per_second * 1e-9;
      last.part("fit_overhead", "fitted overhead", "us")(r, c) = fit->overhead_seconds * 1e6;
      last.part("fit_error", "largest deviation from the fit", "%")(r, c) = fit->worst_deviation * 100;
    }
}

}  // namespace linkmatrix
