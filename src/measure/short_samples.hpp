#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Takes short samples of each cell in passes over all rounds, so that a link which is slow now and then shows.
///
/// Short samples of a cell are compared with one another only. They are a fraction of the size or of the transfers of
/// its other samples, the same ones each time, and run with as many cells as those did.
class ShortSamples {
 public:
  ShortSamples(Context& context, const Rounds& rounds);

  /// How long transfers take: the cells' other samples.
  void learn(const std::vector<Sampled>& answers);

  /// Cells of this round disturb each other in larger parts.
  void split(std::size_t round, std::size_t cells_at_once);

  /// Takes passes until this share of them is taken. Ends early when the time of the matrix is over.
  void take(double share, std::size_t cells_at_once);

  /// A note if cells have fewer than were asked for, with the reasons.
  void note();

 private:
  void choose_size();
  void take_pass(std::size_t samples, std::size_t cells_at_once);
  Round cells_to_sample(const Round& part) const;
  void keep(const Place& place, const Sampled& answer);

  Context& context_;
  const Rounds& rounds_;
  std::size_t asked_ = 0;                      ///< of each cell; 0: none are taken
  std::vector<double> seconds_;                ///< of a transfer of each cell
  std::size_t copies_ = 1;                     ///< most that a cell has
  std::uint64_t divisor_ = 1;                  ///< of the bytes
  int transfers_ = 0;                          ///< of each sample; 0: not chosen yet
  std::size_t taken_ = 0;                      ///< passes
  std::map<std::size_t, std::size_t> widths_;  ///< by round: cells that may run at once
  std::set<Place> failed_;                     ///< are not tried again
  std::vector<std::string> reasons_;
};

}  // namespace linkmatrix
