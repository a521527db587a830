#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Takes short samples of each cell in passes over all rounds, so that a link which is slow now and then shows. The
/// passes are spread over the time of the matrix, between its rounds: a cell may be in a pass before its own round.
///
/// Short samples of a cell are compared with one another only. They are a fraction of the size or of the transfers of
/// its other samples, the same ones each time, and run with as many cells as those did.
class ShortSamples {
 public:
  ShortSamples(Context& context, const Rounds& rounds);

  /// The other samples of these cells. The first ones show how long a transfer takes, and how much time there is.
  void learn(const Round& cells, const std::vector<Sampled>& answers);

  /// Cells of this round disturb each other in larger parts: its short samples are taken again, in
  /// smaller parts and further passes.
  void split(std::size_t round, std::size_t cells_at_once);

  /// Takes the passes that are due when this share of the rounds is measured. A matrix that is late takes them later.
  void take(double measured, std::size_t cells_at_once);

  /// Takes the other passes, unless the time of the matrix is over. A cell that lacks samples gets more in each.
  void take_rest(std::size_t cells_at_once);

  /// A note if cells have fewer than were asked for, with the reasons.
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
  std::size_t asked_ = 0;                      ///< of each cell; 0: none are taken
  std::size_t passes_ = 0;                     ///< that are to be taken
  std::size_t taken_ = 0;                      ///< passes
  Round first_;                                ///< cells that were measured first
  double transfer_seconds_ = 0;                ///< of the median one of these
  double allowed_ = 0;                         ///< seconds that a short sample may cost
  std::size_t copies_ = 1;                     ///< most that a cell has
  std::uint64_t divisor_ = 1;                  ///< of the bytes
  int transfers_ = 0;                          ///< of each sample; 0: not chosen yet
  std::map<Place, std::size_t> counts_;        ///< samples of each cell
  std::map<std::size_t, std::size_t> widths_;  ///< by round: cells that may run at once
  std::set<Place> failed_;                     ///< are not tried again
  std::vector<std::string> reasons_;
};

}  // namespace linkmatrix
