#include "nbody/nbody_system.hpp"

#include <algorithm>

#include "core/clock.hpp"

namespace linkmatrix {
namespace {

/// Limit of interactions per verification: about 0.1 s in double precision on one core.
constexpr double most_interactions = 1 << 25;
constexpr std::uint64_t least_small = 2048;

}  // namespace

NbodyCase small_case(Precision precision, int devices) {
  const std::uint64_t full = std::max(least_small, bodies_of_tile * static_cast<std::uint64_t>(devices));
  return {precision, full + static_cast<std::uint64_t>(devices) / 2 + 1, devices};
}

NbodyAnswer NbodySystem::verify(const NbodyCase& prepared, double seconds) {
  const Deadline deadline = Deadline::in(seconds);
  const auto left = [&] { return std::max(deadline.seconds_left(), 0.0); };
  const auto judge = [&](const NbodyCase& of, Proof wanted_proof, double interactions) {
    Findings found;
    NbodyAnswer answer = verify_once(wanted_proof, interactions, left(), found);
    if (answer.status != CellStatus::ok) return answer;
    if (const auto why = why_wrong(found, of, wanted_proof == Proof::drift))
      return NbodyAnswer{CellStatus::corrupt, *why, 0};
    return answer;
  };
  if (NbodyAnswer answer = judge(prepared, Proof::steps, most_interactions); answer.status != CellStatus::ok)
    return answer;
  const std::pair proof{prepared.precision, prepared.devices};
  if (proven_.contains(proof)) return {};
  const NbodyCase small = small_case(prepared.precision, prepared.devices);
  const auto bodies = static_cast<double>(small.bodies);
  if (NbodyAnswer answer = prepare(small, left()); answer.status != CellStatus::ok) return answer;
  for (const Proof wanted_proof : {Proof::steps, Proof::drift})
    if (NbodyAnswer answer = judge(small, wanted_proof, 2 * bodies * bodies); answer.status != CellStatus::ok)
      return answer;
  proven_.insert(proof);
  return {};
}

}  // namespace linkmatrix
