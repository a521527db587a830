#include "core/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr double sample_seconds = 0.0025;  // a sample lasts at least this: events tick every 0.5 µs, 0.02 % of it
constexpr double looped_seconds = 0.008;   // of a kernel that repeats its copy: its launch and its end are 0.05 % of it
constexpr double max_repeats = 100;        // a gate must not hold more than 128 copies
constexpr double max_loaded_repeats = 16;  // background copies are repeated a few times as often

/// Repeats that make a sample long enough, from the time of one transfer. Copies of one cell start a few µs apart,
/// which counts against their sum: both ways get twice the time.
int repeats_for(double seconds, const Cell& cell) {
  const auto loaded = std::any_of(cell.copies.begin(), cell.copies.end(), [](const Copy& c) { return c.background; });
  const double least = cell.copies.front().looped ? looped_seconds : sample_seconds;
  const double wanted = least * (loaded ? 1 : static_cast<double>(cell.copies.size()));
  return static_cast<int>(
      std::clamp(std::ceil(wanted / std::max(seconds, 1e-9)), 1.0, loaded ? max_loaded_repeats : max_repeats));
}

}  // namespace

std::vector<Copy> Sampler::copies_of(const Round& round, std::uint64_t divide_bytes_by) const {
  std::vector<Copy> copies;
  for (const std::size_t i : round)
    for (Copy copy : cells_[i].copies) {
      copy.bytes /= divide_bytes_by;
      copies.push_back(copy);
    }
  return copies;
}

std::vector<Samples> Sampler::sample(const Round& round, const StopRule& stop, std::uint64_t divide_bytes_by) {
  in_flight_ = round;
  const std::vector<Copy> copies = copies_of(round, divide_bytes_by);
  const std::vector<CopyTime> first = backend_.run(copies, warmup_, deadline_);
  double slowest = 0;
  for (std::size_t k = 0; k < copies.size(); ++k)
    if (!copies[k].background) slowest = std::max(slowest, first[k].seconds);
  const int repeats = repeats_for(slowest, cells_[round.front()]);
  std::vector<Samples> out(round.size());
  const auto all_done = [&] {
    return std::all_of(out.begin(), out.end(), [&](const Samples& s) { return stop.done(s.values); });
  };
  do {
    const std::vector<CopyTime> times = backend_.run(copies, repeats, deadline_);
    std::size_t at = 0;
    for (std::size_t k = 0; k < round.size(); ++k) {
      const std::size_t n = cells_[round[k]].copies.size();
      append(out[k], std::span(copies).subspan(at, n), std::span(times).subspan(at, n));
      at += n;
    }
  } while (!all_done() && !out_of_time());
  return out;
}

void Sampler::append(Samples& samples, std::span<const Copy> copies, std::span<const CopyTime> times) const {
  samples.seconds.resize(copies.size());
  std::uint64_t bytes = 0;
  double longest = 0;
  for (std::size_t c = 0; c < copies.size(); ++c) {
    if (copies[c].background) continue;
    if (!(times[c].seconds > 0) || !std::isfinite(times[c].seconds))
      throw DeviceError("a copy was timed at " + std::to_string(times[c].seconds) + " s: the clock cannot be right");
    samples.seconds[c].push_back(times[c].seconds);
    bytes += copies[c].bytes;
    longest = std::max(longest, times[c].seconds);
  }
  samples.enqueue_seconds.push_back(times.front().enqueue_seconds);
  // Both directions' bytes over the longer time: a sum that cannot count time twice.
  samples.values.push_back(metric_ == Metric::latency ? longest * 1e6 : gigabytes_per_second(bytes, longest));
}

}  // namespace linkmatrix
