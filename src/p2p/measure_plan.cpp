#include "p2p/measure_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/schedule.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// Packs the cells into rounds without common resources, in the order of the plan.
std::vector<Round> rounds_of(const std::vector<CopyCell>& cells, const Sampler& sampler) {
  const auto index = [&](std::size_t i) { return CellIndex{cells[i].row, cells[i].column}; };
  std::vector<Round> rounds;
  for (const auto& items : pack_rounds(cells.size(), [&](std::size_t i) { return sampler.resources(index(i)); })) {
    Round& round = rounds.emplace_back();
    for (const std::size_t i : items) round.push_back(index(i));
  }
  return rounds;
}

/// Returns copies in both directions for each pair of devices in the plan.
std::vector<CopyCell> bidirectional_cells(const Backend& backend, const Plan& plan) {
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

Path path_of(const Backend& backend, const Copy& copy) {
  const auto label = [&](int endpoint) { return backend.endpoints().at(static_cast<std::size_t>(endpoint)).label; };
  return {label(copy.source), label(copy.destination)};
}

/// Returns the cells with the simulated fault in their visibility tests.
std::vector<CopyCell> with_write_faults(const Backend& backend, std::vector<CopyCell> cells,
                                        const std::optional<SimulatedFault>& fault) {
  for (CopyCell& cell : cells)
    for (Copy& copy : cell.copies)
      if (fault && copy.operation == Operation::visibility && fault->affects(path_of(backend, copy)))
        copy.write_fault = fault->write_fault();
  return cells;
}

/// Adapts the options to a visibility test. Its result is the compared words. Its time is no property of the link, so
/// it has no target (unless one was given) and no short samples.
MeasureOptions measured_as(const Plan& plan, MeasureOptions how) {
  const bool is_litmus = !plan.cells.empty() && !plan.cells.front().copies.empty() &&
                         plan.cells.front().copies.front().operation == Operation::visibility;
  if (is_litmus) how.short_samples = 0;
  if (is_litmus && std::isfinite(how.stop.patience)) how.stop.target = std::numeric_limits<double>::infinity();
  return how;
}

/// Warms up the links. Ignores failures, because they occur again during the measurement.
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

void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& asked, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault) {
  const MeasureOptions how = measured_as(plan, asked);
  const bool stress = !plan.rounds.empty();
  if (how.warm_bidirectional) warm_up(backend, bidirectional_cells(backend, plan), how, deadline);
  CopySampler copies(backend, with_write_faults(backend, plan.cells, fault), plan.result.metric, how.warmup, stress,
                     deadline);
  if (fault && fault->kind == SimulatedFault::Kind::corrupt)
    copies.set_simulated_fault(
        {fault->every, [&](const Copy& copy) { return fault->affects(path_of(backend, copy)); }});
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
  return std::any_of(plan.cells.begin(), plan.cells.end(), [&](const CopyCell& cell) {
    return std::any_of(cell.copies.begin(), cell.copies.end(), [&](const Copy& copy) {
      return !copy.background && fault.affects(path_of(backend, copy)) &&
             (fault.write_fault() == WriteFault::none || copy.operation == Operation::visibility);
    });
  });
}

}  // namespace linkmatrix
