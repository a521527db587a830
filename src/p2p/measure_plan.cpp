#include "p2p/measure_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/schedule.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// Rounds of cells that share nothing, in the order of the plan: that of a round-robin schedule gives its rounds back.
std::vector<Round> rounds_of(const std::vector<CopyCell>& cells, const Sampler& sampler) {
  const auto place = [&](std::size_t i) { return Place{cells[i].row, cells[i].column}; };
  std::vector<Round> rounds;
  for (const auto& items : pack_rounds(cells.size(), [&](std::size_t i) { return sampler.resources(place(i)); })) {
    Round& round = rounds.emplace_back();
    for (const std::size_t i : items) round.push_back(place(i));
  }
  return rounds;
}

/// A copy each way for each pair of devices that the plan has copies between.
std::vector<CopyCell> both_ways(const Backend& backend, const Plan& plan) {
  const auto is_device = [&](int endpoint) {
    return backend.endpoints().at(static_cast<std::size_t>(endpoint)).kind == EndpointKind::device;
  };
  std::vector<CopyCell> cells;
  std::set<std::pair<int, int>> known;
  for (const CopyCell& cell : plan.cells)
    for (const Copy& copy : cell.copies) {
      const auto [one, other] = std::minmax(copy.source, copy.destination);
      if (one == other || !is_device(one) || !is_device(other) || !known.insert({one, other}).second) continue;
      Copy there{.source = one, .destination = other, .bytes = copy.is_chain() ? MiB : copy.bytes};
      there.peer_access = copy.peer_access;
      Copy back = there;
      std::swap(back.source, back.destination);
      cells.push_back({static_cast<std::size_t>(one), static_cast<std::size_t>(other), {there, back}});
    }
  return cells;
}

/// Whatever fails or hangs here does so again where it is measured, and is said there.
void warm_up(Backend& backend, const std::vector<CopyCell>& cells, const MeasureOptions& how, Deadline deadline) {
  CopySampler copies(backend, cells, Metric::bidirectional, std::max(1, how.warmup), false, deadline);
  for (const Round& round : rounds_of(cells, copies)) {
    SampleRule once;
    once.verify = false;
    once.enough = Deadline::in(0);
    once.limit = deadline;
    once.until = earlier(Deadline::in(how.cell_timeout), deadline);
    copies.sample(round, once);
  }
}

}  // namespace

void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& how, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault) {
  const bool stress = !plan.rounds.empty();
  if (how.warm_both_ways) warm_up(backend, both_ways(backend, plan), how, deadline);
  CopySampler copies(backend, plan.cells, plan.result.metric, how.warmup, stress, deadline);
  std::optional<FaultySampler> faulty;
  if (fault) faulty.emplace(copies, *fault);
  Sampler& sampler = faulty ? static_cast<Sampler&>(*faulty) : copies;
  const ListedRounds rounds(stress ? plan.rounds : rounds_of(plan.cells, sampler));
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
