#include <algorithm>
#include <set>

#include "core/schedule.hpp"
#include "measure/remeasurement.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_notes = 20;

bool has_failed(Context& context, const CellIndex& cell) {
  const CellStatus status = context.store().status(cell);
  return (status == CellStatus::timeout || status == CellStatus::error) && !context.has_proven_error(cell) &&
         context.sampler().is_available(cell);
}

/// Returns the rounds to retry: failed cells that share no resource, at most `at_once` per round. With Work::together
/// or Work::stress, returns the whole rounds that contain a failed cell.
std::vector<Round> retry_rounds(Context& context, std::size_t at_once) {
  const Rounds& rounds = context.work().rounds;
  std::vector<Round> again;
  Round failed;
  for (std::size_t r = 0; r < rounds.count(); ++r) {
    Round round = rounds.at(r);
    std::erase_if(round, [&](const CellIndex& cell) { return !context.sampler().is_available(cell); });
    Round here = round;
    std::erase_if(here, [&](const CellIndex& cell) { return !has_failed(context, cell); });
    failed.insert(failed.end(), here.begin(), here.end());
    if (!here.empty()) again.push_back(std::move(round));
  }
  if (context.work().together || context.work().stress) return again;
  return split_rounds(context.disjoint(failed), at_once);
}

}  // namespace

void retry(Context& context, std::size_t at_once) {
  std::size_t failed = 0, succeeded = 0;
  std::vector<std::string> reasons;
  for (const Round& round : retry_rounds(context, at_once)) {
    if (context.out_of_time()) break;
    std::set<CellIndex> wanted;
    for (const CellIndex& cell : round)
      if (has_failed(context, cell)) wanted.insert(cell);
    const auto answers =
        context.sample(round, {.stop = context.stop(), .counts = true, .round = context.work().rounds.count()});
    for (std::size_t k = 0; k < round.size(); ++k) {
      if (!wanted.contains(round[k])) continue;
      context.store_value(round[k], answers[k]);
      const bool well = answers[k].status == CellStatus::ok || answers[k].status == CellStatus::partial;
      ++failed;
      succeeded += well ? 1 : 0;
      if (!well && answers[k].status != CellStatus::corrupt)
        reasons.push_back(context.name(round[k]) + ": " + answers[k].why);
    }
  }
  if (failed == 0) return;
  context.note(std::to_string(failed) + " pairs failed in the first attempt, " + std::to_string(failed - succeeded) +
               " of these pairs also in the second attempt");
  for (std::size_t m = 0; m < std::min(reasons.size(), most_notes); ++m) context.note(reasons[m]);
  if (reasons.size() > most_notes)
    context.note("and " + std::to_string(reasons.size() - most_notes) + " more pairs failed");
}

}  // namespace linkmatrix
