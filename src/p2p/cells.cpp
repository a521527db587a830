#include "p2p/cells.hpp"

#include <algorithm>
#include <map>

#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

/// Assigns separate buffers to copies of a cell that share an endpoint.
void assign_slots(std::vector<Copy>& copies) {
  std::map<int, int> sources, destinations;
  for (Copy& copy : copies) {
    copy.source_slot = sources[copy.source]++;
    copy.destination_slot = destinations[copy.destination]++;
  }
}

}  // namespace

Axis axis(const Backend& backend, EndpointKind kind) {
  Axis out;
  const auto& endpoints = backend.endpoints();
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    if (endpoints[i].kind == kind) {
      out.endpoints.push_back(static_cast<int>(i));
      out.labels.push_back(endpoints[i].label);
    }
  return out;
}

std::vector<CopyCell> pair_cells(const TestCase& t, const std::vector<int>& devices, const CopyMaker& copy) {
  std::vector<CopyCell> cells;
  for (const auto& round : round_robin(static_cast<int>(devices.size()))) {
    for (const bool back : {false, true}) {
      if (back && t.metric == Metric::bidirectional) continue;
      for (const auto& [a, b] : round) {
        const auto row = static_cast<std::size_t>(back ? b : a), column = static_cast<std::size_t>(back ? a : b);
        cells.push_back({row, column, copy.cell(devices[row], devices[column])});
      }
    }
  }
  return cells;
}

std::vector<CopyCell> local_cells(std::size_t rows, const std::vector<int>& devices, const CopyMaker& copy) {
  std::vector<CopyCell> cells;
  for (std::size_t d = 0; d < devices.size(); ++d)
    cells.push_back({rows == 1 ? 0 : d, d, {copy(devices[d], devices[d])}});
  return cells;
}

std::vector<CopyCell> grid_cells(const TestCase& t, const Axis& rows, const Axis& columns, const CopyMaker& copy) {
  const bool devices_are_rows = t.pattern == Pattern::device_to_host;
  const std::vector<int>& devices = devices_are_rows ? rows.endpoints : columns.endpoints;
  std::vector<CopyCell> cells;
  for (std::size_t r = 0; r < rows.endpoints.size(); ++r)
    for (std::size_t c = 0; c < columns.endpoints.size(); ++c) {
      CopyCell cell{r, c, copy.cell(rows.endpoints[r], columns.endpoints[c])};
      for (const int device : devices) {
        if (t.load != Load::others || device == (devices_are_rows ? rows.endpoints[r] : columns.endpoints[c])) continue;
        for (Copy other :
             devices_are_rows ? copy.cell(device, columns.endpoints[c]) : copy.cell(rows.endpoints[r], device)) {
          other.background = true;
          cell.copies.push_back(other);
        }
      }
      assign_slots(cell.copies);
      cells.push_back(std::move(cell));
    }
  return cells;
}

bool reach_each_other(const Topology& topology, std::size_t a, std::size_t b) {
  return topology.peer_access(a, b).value_or(true) && topology.peer_access(b, a).value_or(true);
}

std::vector<CopyCell> fan_cells(bool inbound, const Backend& backend, const std::vector<int>& devices,
                                const CopyMaker& copy) {
  std::vector<CopyCell> cells;
  for (std::size_t one = 0; one < devices.size(); ++one) {
    CopyCell cell{inbound ? 0 : one, inbound ? one : 0, {}};
    for (std::size_t other = 0; other < devices.size(); ++other)
      if (other != one && reach_each_other(backend.topology(), one, other))
        cell.copies.push_back(inbound ? copy(devices[other], devices[one]) : copy(devices[one], devices[other]));
    assign_slots(cell.copies);
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::vector<Round> shifts(const std::vector<CopyCell>& cells, std::size_t devices) {
  std::vector<Round> rounds(devices - 1);
  for (const CopyCell& cell : cells)
    rounds[(cell.column + devices - cell.row) % devices - 1].push_back({cell.row, cell.column});
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

}  // namespace linkmatrix
