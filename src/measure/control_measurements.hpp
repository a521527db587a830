#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "measure/calibration.hpp"

namespace linkmatrix {

/// Detects concurrent rounds whose cells disturb each other. A control measurement repeats one cell of a round alone.
///
/// The calibration measures one round. It cannot detect a resource that only other rounds share, such as an uplink of
/// two of eight devices. After the last round, control measurements begin with the round whose worst cell deviates most
/// from the median of its link class. They take at most 5 % as many samples as the rounds. If one round shows
/// interference, this limit ends and every round is checked.
class ControlMeasurements {
 public:
  /// Cells of a round that were measured concurrently.
  struct Part {
    std::size_t number;  ///< number of the round
    Round cells;
    std::vector<std::vector<double>> values;  ///< values of each cell; empty if the cell failed
  };

  ControlMeasurements(Context& context, const Rounds& rounds) : context_{context}, rounds_{rounds} {}

  /// Excludes a round from control measurements: the calibrated round.
  void exclude_round(std::optional<std::size_t> round) { excluded_round_ = round; }

  /// Adds concurrently measured cells and their results. In a matrix with more than `most_serial` endpoints, a random
  /// fraction of the calls takes a control measurement immediately.
  void add(std::size_t number, const Round& cells, const std::vector<Sampled>& answers);

  /// Takes control measurements until one shows interference, and returns its part. The caller measures smaller parts
  /// and adds them. Returns nothing if no part is left, or at the limit of samples.
  std::optional<Part> next_disturbed();

  /// Adds a note with the number of unchecked rounds, if other rounds showed interference and the time limit passed.
  void note_unchecked_rounds();

 private:
  struct Deviation {
    double worse;            ///< fraction by which the cell is worse than the median of its class
    std::size_t part, cell;  ///< indices into `unchecked_` and into the cells of the part
  };
  std::optional<Deviation> largest_deviation(const Part& part, const std::map<std::string_view, double>& medians) const;
  std::map<std::string_view, double> class_medians() const;
  bool has_interference(const Part& part, std::size_t cell);
  bool has_sample_budget() const;
  void accept(double change);

  Context& context_;
  const Rounds& rounds_;
  std::optional<std::size_t> excluded_round_;
  std::vector<Part> unchecked_;         ///< parts without a control measurement
  std::map<CellIndex, double> values_;  ///< median of each cell
  std::size_t round_samples_ = 0;       ///< samples taken by rounds
  std::size_t control_samples_ = 0;     ///< samples taken by control measurements
  double largest_interference_ = 0;     ///< of the parts that next_disturbed() returned
  std::mt19937 random_{1};              ///< chooses rounds of a large matrix; same seed in every run
};

}  // namespace linkmatrix
