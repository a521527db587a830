#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace linkmatrix {

/// Returns the median: the mean of the two middle values for an even count. `values` must not be empty.
double median(std::vector<double> values);

struct Interval {
  double low;
  double high;
};

/// Returns the distribution-free interval of the median: the innermost order statistics that cover the median with at
/// least 95 % (binomial, p = 1/2; Hoefler & Belli, SC15). For fewer than six values returns minimum and maximum.
Interval median_interval(std::vector<double> values);

/// Returns half the width of the median's interval, as a fraction of the median.
double relative_half_width(const std::vector<double>& values);

/// Returns 1.4826 × median absolute deviation: a standard deviation of normal noise that is robust against outliers.
double robust_sigma(const std::vector<double>& values);

/// Returns the upper tail of the binomial distribution: P(X >= least) for `trials` trials, at most some dozens, with
/// probability `p`.
double binomial_tail(std::size_t trials, std::size_t least, double p);

struct TransferTime {
  double bytes, seconds;
};

/// seconds = overhead + bytes / bandwidth (Hockney, 1994).
struct TransferFit {
  double overhead_seconds;
  double bytes_per_second;
  double worst_deviation;  ///< largest |fitted / measured - 1|
};

/// Fits a line through two or more sizes by least squares of the relative deviations, so that short and long transfers
/// count alike. Returns nothing if noise makes the bandwidth or the overhead negative, or if all sizes are equal.
std::optional<TransferFit> fit_transfer(std::span<const TransferTime> times);

/// Smallest number of samples of which minimum and maximum cover the median with 95 % (exactly 96.9 %).
constexpr std::size_t least_for_interval = 6;

/// Rule that ends the sampling of one cell.
struct StopRule {
  int min_samples = 7;     ///< minimum and maximum of 6 samples cover the median with 96.9 %
  int max_samples = 28;    ///< maximum number for a noisy cell
  double target = 0.0025;  ///< target of the relative half width of the median's interval
  double settled = 0.05;   ///< noise that changes by less than this fraction over `window` samples has settled
  std::size_t window = 7;
  double patience = 0.25;  ///< time limit of a noisy cell in seconds; more samples of 0.1 s would not reduce the noise

  /// Returns whether the interval of the median is within the target. Always false below six samples.
  bool converged(const std::vector<double>& values) const;
  /// Returns whether sampling may stop: within the target, settled, at the maximum, or out of patience. seconds: time
  /// spent on these samples.
  bool done(const std::vector<double>& values, double seconds) const;
};

}  // namespace linkmatrix
