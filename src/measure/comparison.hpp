#pragma once

#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Endpoints of a matrix that may be measured a pair at a time where pairs at once disturb each other. Of more, rounds
/// drawn at random have a witness, and a note says what it found.
constexpr std::size_t most_serial = 64;

/// How far a cell's value with others is from its value alone, and how far it may be, as fractions.
struct Moved {
  double by = 0, limit = 0;
  bool is_known = true;  ///< false: a cell failed
  bool too_far() const { return by > limit; }
};

/// The limit is three sigma of the noisier of the two, but no less than what may always be and no more than noise may
/// pay for.
Moved moved(const Sensitivity& sensitivity, const std::vector<double>& alone, const std::vector<double>& together);

/// So many samples, whatever they say.
StopRule exactly(int samples);

bool all_ok(const std::vector<Sampled>& answers);

/// Samples of a look beside another one at the same cells.
constexpr int brief_samples = 3;

/// Samples that look thoroughly where one sample left a doubt.
constexpr int thorough_samples = 3;

}  // namespace linkmatrix
