#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "measure/calibration.hpp"

namespace linkmatrix {

/// Whether the calibration of one round holds for the others: a witness is a cell that was measured with others, once
/// more alone.
///
/// A calibration that looks at one round misses what other rounds share, such as an uplink of two of eight devices. So
/// when all rounds are measured, the one whose worst cell is furthest from the median of its link class has this cell
/// measured alone first, then the next one, for at most a twentieth of the samples that the rounds took. As soon as one
/// is found whose cells disturb each other, every round is looked at, whatever that costs.
class ControlMeasurements {
 public:
  /// What was measured at once.
  struct Part {
    std::size_t number;  ///< of its round
    Round cells;
    std::vector<std::vector<double>> values;  ///< of each cell; empty where it failed
  };

  ControlMeasurements(Context& context, const Rounds& rounds) : context_{context}, rounds_{rounds} {}

  /// This round needs no witness: the calibration is one.
  void trust(std::optional<std::size_t> round) { trusted_ = round; }

  /// Cells that were measured at once. Of a matrix of more than `most_serial` endpoints they may be looked at here.
  void add(std::size_t number, const Round& cells, const std::vector<Sampled>& answers);

  /// The next of these whose cells disturb each other: it is to be measured in smaller parts, which are added in turn.
  /// Nothing when there is none, or no more may be spent.
  std::optional<Part> next_disturbed();

  /// Says what stands unasked though others were disturbed, because the time was over. As much may be in its values.
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
  std::vector<Part> open_;          ///< measured, and not looked at
  std::map<Place, double> values_;  ///< of all cells
  std::size_t measured_ = 0;        ///< samples of rounds
  std::size_t spent_ = 0;           ///< samples of witnesses
  double found_ = 0;                ///< the worst disturbance of a part that was taken back
  std::mt19937 random_{1};          ///< which rounds of a large matrix have a witness: the same in every run
};

}  // namespace linkmatrix
