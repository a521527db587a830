#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace linkmatrix {
namespace {

/// Returns the number of order statistics that the interval omits at each end: the largest k with
/// P(Binomial(n, 1/2) < k) <= 2.5 %, as an index.
std::size_t droppable(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));  // P(exactly k values are below the median)
  double below = probability;
  std::size_t k = 0;
  while (below <= 0.025 && 2 * (k + 1) < n) {
    ++k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += probability;
  }
  return k == 0 ? 0 : k - 1;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t k = droppable(values.size());
  return {values[k], values[values.size() - 1 - k]};
}

double relative_half_width(const std::vector<double>& values) {
  const auto [low, high] = median_interval(values);
  return (high - low) / 2 / median(values);
}

double robust_sigma(const std::vector<double>& values) {
  const double center = median(values);
  std::vector<double> deviations(values.size());
  std::transform(values.begin(), values.end(), deviations.begin(), [&](double v) { return std::abs(v - center); });
  return 1.4826 * median(std::move(deviations));
}

double binomial_tail(std::size_t trials, std::size_t least, double p) {
  double coefficient = 1, sum = 0;
  const auto n = static_cast<double>(trials);
  for (std::size_t k = 0; k <= trials; ++k) {
    const auto done = static_cast<double>(k);
    if (k >= least) sum += coefficient * std::pow(p, done) * std::pow(1 - p, n - done);
    coefficient *= (n - done) / (done + 1);
  }
  return sum;
}

std::optional<TransferFit> fit_transfer(std::span<const TransferTime> times) {
  // Each equation overhead + bytes x per_byte = seconds is divided by its seconds: a + b x per_byte = 1.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const auto& [bytes, seconds] : times) {
    const double a = 1 / seconds, b = bytes / seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-12 * aa * bb)) return std::nullopt;
  const double overhead = (bb * a1 - ab * b1) / determinant, per_byte = (aa * b1 - ab * a1) / determinant;
  if (!(per_byte > 0) || !(overhead >= 0)) return std::nullopt;
  double worst = 0;
  for (const auto& [bytes, seconds] : times)
    worst = std::max(worst, std::abs((overhead + bytes * per_byte) / seconds - 1));
  return TransferFit{overhead, 1 / per_byte, worst};
}

bool StopRule::converged(const std::vector<double>& values) const {
  return values.size() >= least_for_interval && relative_half_width(values) <= target;
}

bool StopRule::done(const std::vector<double>& values, double seconds) const {
  const std::size_t n = values.size();
  if (n < static_cast<std::size_t>(min_samples)) return false;
  if (n >= static_cast<std::size_t>(max_samples) || seconds >= patience) return true;
  if (relative_half_width(values) <= target) return true;
  if (n < 2 * window) return false;
  const std::vector<double> earlier(values.begin(), values.end() - static_cast<std::ptrdiff_t>(window));
  const double before = robust_sigma(earlier), now = robust_sigma(values);
  return before > 0 && std::abs(now / before - 1) < settled;
}

}  // namespace linkmatrix
