#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "measure/calibration.hpp"

namespace linkmatrix {

/// Checks with control measurements whether the calibration of one round applies to the other rounds. A control
/// measurement repeats one cell of a concurrent round alone.
///
/// The calibration of one round cannot detect resources that only other rounds share, such as an uplink of two of eight
/// devices. When all rounds are measured, the round whose worst cell deviates most from the median of its link class is
/// checked first. Control measurements use at most a twentieth of the samples of the rounds. As soon as one round shows
/// interference, every round is checked, at any cost.
class ControlMeasurements {
 public:
  /// Cells that were measured concurrently.
  struct Part {
    std::size_t number;  ///< number of the round
    Round cells;
    std::vector<std::vector<double>> values;  ///< values of each cell; empty if the cell failed
  };

  ControlMeasurements(Context& context, const Rounds& rounds) : context_{context}, rounds_{rounds} {}

  /// Excludes the calibrated round from control measurements.
  void trust(std::optional<std::size_t> round) { trusted_ = round; }

  /// Adds concurrently measured cells. In a matrix with more than `most_serial` endpoints this may take a control
  /// measurement.
  void add(std::size_t number, const Round& cells, const std::vector<Sampled>& answers);

  /// Returns the next part whose cells disturb each other. The caller measures it in smaller parts and adds these.
  /// Returns nothing if there is none, or if the limit of samples is reached.
  std::optional<Part> next_disturbed();

  /// Adds a note on unchecked parts if other parts showed interference and the time limit passed. Unchecked values may
  /// contain the same interference.
  void note_unasked();

 private:
  struct Suspect {
    double worse;
    std::size_t part, cell;
  };
  std::optional<Suspect> worst_of(const Part& part, const std::map<std::string_view, double>& usual) const;
  std::map<std::string_view, double> usual() const;
  bool disturbs_itself(const Part& part, std::size_t cell);
  bool may_spend() const;
  void agree(double by);

  Context& context_;
  const Rounds& rounds_;
  std::optional<std::size_t> trusted_;
  std::vector<Part> open_;          ///< measured parts without a control measurement
  std::map<Place, double> values_;  ///< values of all cells
  std::size_t measured_ = 0;        ///< number of samples of rounds
  std::size_t spent_ = 0;           ///< number of samples of control measurements
  double found_ = 0;                ///< largest interference of a rejected part
  std::mt19937 random_{1};          ///< random numbers that choose rounds of a large matrix; the same in every run
};

}  // namespace linkmatrix
