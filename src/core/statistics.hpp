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

/// Returns the distribution-free 95 % confidence interval of the median: the innermost order statistics whose binomial
/// coverage (p = 1/2) is at least 95 % (Hoefler & Belli, SC15). Fewer than six values: minimum and maximum.
Interval median_interval(std::vector<double> values);

/// Returns (high − low) / (2 × median) of median_interval().
double relative_half_width(const std::vector<double>& values);

/// Returns 1.4826 × the median absolute deviation. For normal noise it estimates the standard deviation, and outliers
/// hardly change it.
double robust_sigma(const std::vector<double>& values);

/// Returns the upper tail of the binomial distribution: P(X >= least) for `trials` trials with probability `p`. For at
/// most some dozens of trials.
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

/// Fits TransferFit to two or more sizes. Minimizes the squared relative deviations, so that short and long transfers
/// have equal weight. Returns nothing if the bandwidth or overhead would be negative, or if all sizes are equal.
std::optional<TransferFit> fit_transfer(std::span<const TransferTime> times);

/// Smallest number of samples whose minimum and maximum cover the median with 95 %: 1 − 2 × (1/2)⁶ = 96.9 %.
constexpr std::size_t least_for_interval = 6;

/// Decides when a cell has enough samples.
struct StopRule {
  int min_samples = 7;     ///< minimum and maximum of 6 samples cover the median with 96.9 %
  int max_samples = 28;    ///< maximum number for a noisy cell
  double target = 0.0025;  ///< target of the relative half width of the median's interval
  double settled = 0.05;   ///< noise has settled if it changes by less than this fraction over `window` samples
  std::size_t window = 7;
  double patience = 0.25;  ///< time limit of a noisy cell in seconds

  /// Returns whether the interval of the median is within the target. Always false below six samples.
  bool converged(const std::vector<double>& values) const;
  /// Returns whether sampling may stop: the interval is within the target, the noise has settled, or the maximum number
  /// or `patience` is reached. seconds: time spent on these samples.
  bool done(const std::vector<double>& values, double seconds) const;
};

}  // namespace linkmatrix
