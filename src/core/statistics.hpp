#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace linkmatrix {

/// The middle value; the mean of the two middle ones for an even count. `values` must not be empty.
double median(std::vector<double> values);

struct Interval {
  double low;
  double high;
};

/// A distribution-free interval of the median: the innermost pair of order statistics that covers it with at least
/// 95 % (binomial, p = 1/2; Hoefler & Belli, SC15). Fewer than six values cannot: then it is minimum to maximum.
Interval median_interval(std::vector<double> values);

/// Half of the median's interval over the median, as a fraction.
double relative_half_width(const std::vector<double>& values);

/// 1.4826 × median absolute deviation: the standard deviation of normal noise, robust against outliers.
double robust_sigma(const std::vector<double>& values);

struct TransferTime {
  double bytes, seconds;
};

/// seconds = overhead + bytes / bandwidth (Hockney, 1994).
struct TransferFit {
  double overhead_seconds;
  double bytes_per_second;
  double worst_deviation;  ///< largest |fitted / measured - 1|
};

/// The line through two or more sizes, by least squares of the relative deviations: a size of a microsecond counts as
/// much as one of a second. Nothing where noise makes it meaningless (a rate or an overhead below zero), or where all
/// sizes are the same.
std::optional<TransferFit> fit_transfer(std::span<const TransferTime> times);

/// From how many samples on minimum to maximum covers the median with 95 % (96.9 %).
constexpr std::size_t least_for_interval = 6;

/// When one cell has been sampled enough.
struct StopRule {
  int min_samples = 7;     ///< minimum to maximum of 6 covers the median with 96.9 %
  int max_samples = 28;    ///< a noisy cell's end
  double target = 0.0025;  ///< wanted relative half width of the median's interval
  double settled = 0.05;   ///< noise that changes by less than this over `window` samples will not get better
  std::size_t window = 7;
  double patience = 0.25;  ///< seconds that a noisy cell may take: 28 samples of 0.1 s would not make it quieter

  /// The interval of the median is one, and inside the target: below six samples there is none.
  bool converged(const std::vector<double>& values) const;
  /// True if sampling may stop: inside the target, settled above it, or at the maximum. `seconds`: spent on these.
  bool done(const std::vector<double>& values, double seconds) const;
};

}  // namespace linkmatrix
