#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Takes short samples (--short-samples) of each cell, to detect intermittent links.
///
/// Up to 12 passes over all rounds are spread over the time of the matrix. A pass can therefore precede the round of a
/// cell. All short samples of a cell have the same size and the same number of concurrent cells. They are compared only
/// with each other.
class ShortSamples {
 public:
  ShortSamples(Context& context, const Rounds& rounds);

  /// Reads the duration of a transfer and the available time from the normal samples of the first call.
  void learn(const Round& cells, const std::vector<Sampled>& answers);

  /// Limits the concurrent cells of a round whose cells disturb each other. Discards its short samples so far.
  void split(std::size_t round, std::size_t concurrent_cells);

  /// Takes the passes that are due. measured: fraction of the rounds that is complete. Skips them if the matrix is
  /// late.
  void take(double measured, std::size_t concurrent_cells);

  /// Takes the remaining passes, until the time limit of the matrix. Cells that lack samples get more samples per pass.
  void take_rest(std::size_t concurrent_cells);

  /// Adds a note if cells have too few short samples, with the reasons.
  void note();

 private:
  void choose_size();
  void set_size(double seconds);
  void take_until(std::size_t passes, double measured, std::size_t concurrent_cells);
  void take_pass(std::size_t concurrent_cells);
  std::size_t due(const Round& cells) const;
  Round cells_to_sample(const Round& part) const;
  void keep(const CellIndex& cell, const Sampled& answer);
  void fail(const CellIndex& cell, const Sampled& answer);

  Context& context_;
  const Rounds& rounds_;
  std::size_t asked_ = 0;                      ///< requested samples per cell; 0: none
  std::size_t passes_ = 0;                     ///< requested passes
  std::size_t taken_ = 0;                      ///< completed passes
  Round first_;                                ///< cells of the first call of learn()
  double transfer_seconds_ = 0;                ///< median duration of one transfer of these cells
  double allowed_ = 0;                         ///< maximum seconds per short sample, including its start
  std::size_t copies_ = 1;                     ///< largest number of copies per cell
  std::uint64_t divisor_ = 1;                  ///< divisor of the bytes
  int transfers_ = 0;                          ///< transfers per sample; 0: not chosen yet
  std::map<CellIndex, std::size_t> counts_;    ///< number of short samples per cell
  std::map<std::size_t, std::size_t> widths_;  ///< maximum number of concurrent cells by round
  std::set<CellIndex> failed_;                 ///< cells that failed; they are not retried
  std::vector<std::string> reasons_;
};

}  // namespace linkmatrix
