#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Takes short samples of each cell in passes over all rounds, to detect intermittent links. The passes are spread over
/// the time of the matrix, so a pass can precede the round of a cell.
///
/// Short samples of a cell are compared only with each other. They transfer a fraction of the data of normal samples,
/// always the same, with the same number of concurrent cells.
class ShortSamples {
 public:
  ShortSamples(Context& context, const Rounds& rounds);

  /// Learns the duration of a transfer and the available time from normal samples.
  void learn(const Round& cells, const std::vector<Sampled>& answers);

  /// Repeats the short samples of a round in smaller groups, because its cells disturb each other.
  void split(std::size_t round, std::size_t cells_at_once);

  /// Takes the passes that are due after this fraction of the rounds. A late matrix takes them later.
  void take(double measured, std::size_t cells_at_once);

  /// Takes the remaining passes, until the time limit of the matrix. Cells with missing samples get more per pass.
  void take_rest(std::size_t cells_at_once);

  /// Adds a note if cells have too few short samples, with the reasons.
  void note();

 private:
  void choose_size();
  void set_size(double seconds);
  void take_until(std::size_t passes, double measured, std::size_t cells_at_once);
  void take_pass(std::size_t cells_at_once);
  std::size_t due(const Round& cells) const;
  Round cells_to_sample(const Round& part) const;
  void keep(const Place& place, const Sampled& answer);
  void fail(const Place& place, const Sampled& answer);

  Context& context_;
  const Rounds& rounds_;
  std::size_t asked_ = 0;                      ///< requested number per cell; 0: none
  std::size_t passes_ = 0;                     ///< number of passes to take
  std::size_t taken_ = 0;                      ///< number of passes taken
  Round first_;                                ///< cells of the first measurement
  double transfer_seconds_ = 0;                ///< median duration of a transfer of these cells, in seconds
  double allowed_ = 0;                         ///< maximum duration of a short sample, in seconds
  std::size_t copies_ = 1;                     ///< largest number of copies of a cell
  std::uint64_t divisor_ = 1;                  ///< divisor of the bytes
  int transfers_ = 0;                          ///< transfers per sample; 0: not chosen yet
  std::map<Place, std::size_t> counts_;        ///< number of short samples per cell
  std::map<std::size_t, std::size_t> widths_;  ///< by round: number of cells that may run concurrently
  std::set<Place> failed_;                     ///< failed cells, which are not retried
  std::vector<std::string> reasons_;
};

}  // namespace linkmatrix
