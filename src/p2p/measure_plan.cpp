#include "p2p/measure_plan.hpp"

#include <algorithm>

#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

/// Rounds of cells that share nothing, in the order of the plan: that of a round-robin schedule gives its rounds back.
std::vector<Round> rounds_of(const Plan& plan, const Sampler& sampler) {
  if (!plan.rounds.empty()) return plan.rounds;
  const auto place = [&](std::size_t i) { return Place{plan.cells[i].row, plan.cells[i].column}; };
  std::vector<Round> rounds;
  for (const auto& items : pack_rounds(plan.cells.size(), [&](std::size_t i) { return sampler.resources(place(i)); })) {
    Round& round = rounds.emplace_back();
    for (const std::size_t i : items) round.push_back(place(i));
  }
  return rounds;
}

}  // namespace

void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& how, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault) {
  const bool stress = !plan.rounds.empty();
  CopySampler copies(backend, plan.cells, plan.result.metric, how.warmup, stress, deadline);
  std::optional<FaultySampler> faulty;
  if (fault) faulty.emplace(copies, *fault);
  Sampler& sampler = faulty ? static_cast<Sampler&>(*faulty) : copies;
  const ListedRounds rounds(rounds_of(plan, sampler));
  ResultStore store(record);
  measure(sampler, {.rounds = rounds, .together = false, .stress = stress}, how, deadline, store);
  const std::vector<std::string> remarks = backend.remarks();
  store.change([&](MatrixResult& result) { result.notes.insert(result.notes.end(), remarks.begin(), remarks.end()); });
}

bool has_fault(const Backend& backend, const Plan& plan, const SimulatedFault& fault) {
  const auto label = [&](int endpoint) { return backend.endpoints().at(static_cast<std::size_t>(endpoint)).label; };
  return std::any_of(plan.cells.begin(), plan.cells.end(), [&](const CopyCell& cell) {
    return std::any_of(cell.copies.begin(), cell.copies.end(), [&](const Copy& copy) {
      return !copy.background && fault.has({label(copy.source), label(copy.destination)});
    });
  });
}

}  // namespace linkmatrix
