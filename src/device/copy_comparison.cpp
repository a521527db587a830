#include <algorithm>
#include <cmath>

#include "core/run_times.hpp"
#include "device/copy_group.hpp"

namespace linkmatrix {
namespace {

constexpr double share_for_comparing = 0.05;  // fraction of a sample's time
constexpr std::uint64_t most_every = 64;
constexpr std::uint64_t seed_base = 0x6c696e6b6d617472;  // arbitrary; each verified cell adds its number

/// Returns n, so that a comparison of every n-th block takes at most share_for_comparing of a run. comparing: seconds
/// to compare all blocks. running: seconds of a run. At least one block per copy is compared.
std::uint64_t every_for(double comparing, double running, const std::vector<Copy>& copies) {
  std::uint64_t most = most_every;
  for (const Copy& copy : copies)
    if (!copy.background) most = std::min(most, std::max<std::uint64_t>(1, copy.bytes / Portion::block_bytes));
  const double every = std::round(comparing / (share_for_comparing * std::max(running, 1e-9)));
  return static_cast<std::uint64_t>(std::clamp(every, 1.0, static_cast<double>(most)));
}

}  // namespace

/// Returns whether the data of each run can be compared. Chains transfer no data.
bool CopySampler::are_runs_compared(const std::vector<Copy>& copies) const {
  return backend_.compares_runs() && std::ranges::none_of(copies, &Copy::is_chain);
}

void CopySampler::lay_patterns(Group& group, const SampleRule& rule) {
  group.with_measured([&](const std::vector<Copy>& copies, const auto&) { backend_.lay_patterns(copies, rule.until); });
}

/// Corrupts data at the destination for the simulated fault.
void CopySampler::poison_some(Group& group, const SampleRule& rule) {
  if (!simulated_fault_.has) return;
  std::vector<Copy> poisoned;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    if (++fault_counts_[group.cells[k]] % simulated_fault_.every != 0) continue;
    for (std::size_t c = 0; c < group.copies.size(); ++c)
      if (group.owner[c] == k && !group.copies[c].background && simulated_fault_.has(group.copies[c]))
        poisoned.push_back(group.copies[c]);
  }
  if (!poisoned.empty()) backend_.lay_patterns(poisoned, rule.until);
}

/// Compares the data of a run. The first comparison is complete and timed. Later comparisons take 5 % of the sample's
/// time and select other blocks each time. Then switches each copy to its other source position.
void CopySampler::compare_run(Group& group, const SampleRule& rule, const Timeline& timeline, double run_seconds) {
  const InPhase phase(RunPhase::verification);
  poison_some(group, rule);
  const auto began = Clock::now();
  group.with_measured([&](const std::vector<Copy>& copies, const std::vector<std::size_t>& numbers) {
    const auto checks = backend_.compare(copies, group.portion, rule.until);
    std::vector<Coverage> run(group.cells.size());
    for (std::size_t c = 0; c < checks.size(); ++c) {
      const std::size_t owner = group.owner[numbers[c]];
      run[owner].transfers += static_cast<std::uint64_t>(timeline.copies[numbers[c]].transfers);
      run[owner].compared_transfers += 1;
      run[owner].compared_share += 1.0 / static_cast<double>(group.portion.every);
      run[owner].samples = 1;
      if (checks[c].wrong_bytes == 0) continue;
      run[owner].wrong_samples = 1;
      mark_corrupt(*group.answers[owner], checks[c]);
    }
    for (std::size_t k = 0; k < group.cells.size(); ++k) {
      group.answers[k]->coverage += run[k];
      group.answers[k]->verified = true;
    }
  });
  if (group.runs_compared == 0) group.portion.every = every_for(seconds_since(began), run_seconds, group.copies);
  group.portion.first = ++group.runs_compared % group.portion.every;
  for (Copy& copy : group.copies)
    if (!copy.background) copy.shift = source_windows - copy.shift;
}

/// Records the first wrong data of a cell.
void CopySampler::mark_corrupt(Sampled& answer, const PatternCheck& check) {
  if (answer.status != CellStatus::corrupt)
    answer.why = std::to_string(check.wrong_bytes) + " wrong bytes arrived, the first at offset " +
                 std::to_string(check.first_wrong);
  answer.status = CellStatus::corrupt;
}

/// Verifies one further copy after the samples, if Backend::compares_runs() is false.
void CopySampler::verify(Group& group, const SampleRule& rule) {
  const InPhase phase(RunPhase::verification);
  group.with_measured([&](const std::vector<Copy>& copies, const std::vector<std::size_t>& numbers) {
    const auto checks = backend_.verify(copies, seed_base + group.cells.front() * 1000003, rule.until);
    for (Sampled* answer : group.answers) answer->verified = true;
    for (std::size_t c = 0; c < checks.size(); ++c)
      if (checks[c].wrong_bytes > 0) mark_corrupt(*group.answers[group.owner[numbers[c]]], checks[c]);
  });
}

}  // namespace linkmatrix
