#include "core/calibrate.hpp"

#include <algorithm>
#include <cmath>

#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

constexpr int samples_each = 3;  // of the cells alone, twice as many
constexpr std::size_t most_cells_alone = 4;
constexpr double least_limit = 0.005;
constexpr double most_limit = 0.01;  // noise must not pay for more: a latency that swings by 3 % is measured alone

struct Interference {
  double moved, limit;
  double excess() const { return moved / limit; }
};

/// The cell that moves furthest over its limit when the whole round runs with it.
Interference worst_interference(Sampler& sampler, const Round& together) {
  const StopRule brief{.min_samples = samples_each, .max_samples = samples_each};
  const std::size_t n = std::min(most_cells_alone, together.size());
  std::vector<std::vector<double>> alone(n);
  const auto measure_alone = [&] {
    for (std::size_t k = 0; k < n; ++k) {
      const auto values = sampler.sample({together[k]}, brief).front().values;
      alone[k].insert(alone[k].end(), values.begin(), values.end());
    }
  };
  measure_alone();
  const std::vector<Samples> at_once = sampler.sample(together, brief);
  measure_alone();
  Interference worst{0, least_limit};
  for (std::size_t k = 0; k < n; ++k) {
    const double reference = median(alone[k]);
    const Interference here{std::abs(median(at_once[k].values) / reference - 1),
                            std::clamp(3 * robust_sigma(alone[k]) / reference, least_limit, most_limit)};
    if (here.excess() > worst.excess()) worst = here;
  }
  return worst;
}

}  // namespace

Calibration calibrate(Sampler& sampler, const std::vector<Round>& rounds, Concurrency concurrency) {
  Calibration result{widest(rounds), std::nullopt};
  if (concurrency == Concurrency::serial) result.pairs_at_once = std::min<std::size_t>(result.pairs_at_once, 1);
  if (concurrency != Concurrency::automatic) return result;
  const auto full =
      std::find_if(rounds.begin(), rounds.end(), [&](const Round& r) { return r.size() == widest(rounds); });
  for (; result.pairs_at_once > 1; result.pairs_at_once /= 2) {
    const Round together(full->begin(), full->begin() + static_cast<std::ptrdiff_t>(result.pairs_at_once));
    const Interference worst = worst_interference(sampler, together);
    result.interference = worst.moved;
    if (worst.moved <= worst.limit) break;
  }
  return result;
}

}  // namespace linkmatrix
