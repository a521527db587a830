#include "p2p/plan.hpp"

#include <algorithm>

#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t copy_latency_bytes = 16;  // as the CUDA sample: smaller than any packet

std::vector<int> endpoints_of(const Backend& backend, EndpointKind kind) {
  std::vector<int> out;
  const auto& endpoints = backend.endpoints();
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    if (endpoints[i].kind == kind) out.push_back(static_cast<int>(i));
  return out;
}

struct Axis {
  std::vector<int> endpoints;
  std::vector<std::string> labels;
};

Axis axis(const Backend& backend, EndpointKind kind) {
  Axis out{endpoints_of(backend, kind), {}};
  for (const int e : out.endpoints) out.labels.push_back(backend.endpoints()[static_cast<std::size_t>(e)].label);
  return out;
}

std::uint64_t bytes_of(const TestCase& t, const Backend& backend, std::uint64_t bytes) {
  if (t.metric != Metric::latency) return bytes;
  return t.operation == Operation::chase && t.engine != Engine::mpi ? backend.chase_bytes() : copy_latency_bytes;
}

std::string quantity_of(const TestCase& t) {
  if (t.metric == Metric::bandwidth) return "bandwidth";
  if (t.metric == Metric::bidirectional) return "sum of both directions";
  return t.operation == Operation::chase && t.engine != Engine::mpi ? "load latency" : "copy latency";
}

std::string transport_of(const TestCase& t) {
  if (t.engine == Engine::mpi) return "mpi";
  return t.peer_access ? "direct" : "staged";
}

Copy copy_between(const TestCase& t, Kernel kernel, std::uint64_t bytes, int source, int destination) {
  return {.source = source,
          .destination = destination,
          .bytes = bytes,
          .operation = t.operation,
          .engine = t.engine,
          .kernel = kernel,
          .direction = t.direction,
          .peer_access = t.peer_access};
}

/// Every ordered pair in a tournament's order, one way and then the other: greedy packing gives its rounds back.
/// A bidirectional pair stands once, with the copies of both directions.
std::vector<Cell> pair_cells(const TestCase& t, const std::vector<int>& devices, const auto& copy) {
  std::vector<Cell> cells;
  for (const auto& round : tournament(static_cast<int>(devices.size()))) {
    for (const bool back : {false, true}) {
      if (back && t.metric == Metric::bidirectional) continue;
      for (const auto& [a, b] : round) {
        const auto row = static_cast<std::size_t>(back ? b : a), column = static_cast<std::size_t>(back ? a : b);
        Cell cell{row, column, {copy(devices[row], devices[column])}};
        if (t.metric == Metric::bidirectional) cell.copies.push_back(copy(devices[column], devices[row]));
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
}

/// Every row with every column; a bidirectional cell has the copy back too.
std::vector<Cell> grid_cells(const TestCase& t, const Axis& rows, const Axis& columns, const auto& copy) {
  std::vector<Cell> cells;
  for (std::size_t r = 0; r < rows.endpoints.size(); ++r)
    for (std::size_t c = 0; c < columns.endpoints.size(); ++c) {
      Cell& cell = cells.emplace_back(Cell{r, c, {copy(rows.endpoints[r], columns.endpoints[c])}});
      if (t.metric == Metric::bidirectional) cell.copies.push_back(copy(columns.endpoints[c], rows.endpoints[r]));
    }
  return cells;
}

std::vector<Cell> local_cells(const std::vector<int>& devices, const auto& copy) {
  std::vector<Cell> cells;
  for (std::size_t d = 0; d < devices.size(); ++d) cells.push_back({0, d, {copy(devices[d], devices[d])}});
  return cells;
}

/// Shapes the result and makes the cells of the test case's pattern.
std::vector<Cell> lay_out(const TestCase& t, const Backend& backend, const auto& copy, MatrixResult& result) {
  const Axis devices = axis(backend, EndpointKind::device), host = axis(backend, EndpointKind::host);
  switch (t.pattern) {
    case Pattern::pairs:
      result.shape(devices.labels, devices.labels);
      return pair_cells(t, devices.endpoints, copy);
    case Pattern::host_to_device:
      result.shape(host.labels, devices.labels);
      return grid_cells(t, host, devices, copy);
    case Pattern::device_to_host:
      result.shape(devices.labels, host.labels);
      return grid_cells(t, devices, host, copy);
    case Pattern::local:
      result.shape({"local"}, devices.labels);
      return local_cells(devices.endpoints, copy);
  }
  throw BadInput("test case '" + std::string(t.name) + "' has no pattern");
}

void describe(const TestCase& t, const Backend& backend, Kernel kernel, std::uint64_t bytes, MatrixResult& result) {
  result.testcase = t.name;
  result.metric = t.metric;
  result.quantity = quantity_of(t);
  result.direction = t.direction;
  result.engine = t.engine;
  if (t.engine == Engine::sm && t.operation == Operation::copy) result.kernel = kernel;
  result.memory = memory_of(t);
  result.transport = transport_of(t);
  if (t.pattern == Pattern::pairs && backend.name() == "cuda") result.peer_access = t.peer_access;
  result.unit = t.metric == Metric::latency ? "us" : "GB/s";
  result.size_bytes = bytes;
}

/// Link class and limit of each cell, from the back end's topology.
void classify(const TestCase& t, const Backend& backend, MatrixResult& result) {
  const Topology& topology = backend.topology();
  const double directions = t.metric == Metric::bidirectional ? 2 : 1;
  for (std::size_t r = 0; r < result.rows.size(); ++r)
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
      if (t.pattern != Pattern::pairs) {
        result.link_class(r, c) = t.pattern == Pattern::local ? "LOCAL" : "HOST";
        continue;
      }
      result.link_class(r, c) = topology.link_class(r, c);
      const bool has_limit = t.metric != Metric::latency && t.peer_access && topology.limit(r, c);
      if (has_limit) result.limit(r, c) = *topology.limit(r, c) * directions;
    }
}

/// Takes out the cells of pairs that cannot reach each other's memory, and marks them.
void drop_unreachable(const TestCase& t, const Backend& backend, Plan& plan) {
  if (t.pattern != Pattern::pairs || !t.peer_access) return;
  const auto& reaches = backend.topology().peer_access;
  std::erase_if(plan.cells, [&](const Cell& cell) {
    if (reaches(cell.row, cell.column).value_or(true) && reaches(cell.column, cell.row).value_or(true)) return false;
    plan.result.status(cell.row, cell.column) = CellStatus::no_peer_access;
    if (t.metric == Metric::bidirectional) plan.result.status(cell.column, cell.row) = CellStatus::no_peer_access;
    return true;
  });
  if (plan.cells.empty())
    throw BadInput("--testcase " + std::string(t.name) +
                   " cannot run here: no pair of devices has peer access; the test cases named *_peer_off need none");
}

}  // namespace

std::optional<std::string> why_not(const TestCase& t, const Backend& backend, Kernel kernel) {
  const auto devices = endpoints_of(backend, EndpointKind::device), host = endpoints_of(backend, EndpointKind::host);
  const std::size_t needed = t.pattern == Pattern::pairs ? 2 : 1;
  if (devices.size() < needed)
    return "it needs " + std::to_string(needed) + " devices, there is " + std::to_string(devices.size());
  const bool with_host = t.pattern == Pattern::host_to_device || t.pattern == Pattern::device_to_host;
  if (with_host && host.empty()) return "the back end '" + backend.name() + "' has no host memory endpoint";
  const int first = t.pattern == Pattern::host_to_device ? host.front() : devices.front();
  const int second = t.pattern == Pattern::device_to_host ? host.front()
                     : t.pattern == Pattern::pairs        ? devices[1]
                                                          : devices.front();
  return backend.refusal(copy_between(t, kernel, MiB, first, second));
}

Plan make_plan(const TestCase& t, const Backend& backend, Kernel kernel, std::uint64_t bytes) {
  if (const auto reason = why_not(t, backend, kernel))
    throw BadInput("--testcase " + std::string(t.name) + " cannot run here: " + *reason);
  bytes = bytes_of(t, backend, bytes);
  Plan plan;
  describe(t, backend, kernel, bytes, plan.result);
  const auto copy = [&](int source, int destination) { return copy_between(t, kernel, bytes, source, destination); };
  plan.cells = lay_out(t, backend, copy, plan.result);
  classify(t, backend, plan.result);
  drop_unreachable(t, backend, plan);
  return plan;
}

}  // namespace linkmatrix
