#include "p2p/plan.hpp"

#include <algorithm>

#include "p2p/cells.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t copy_latency_bytes = 16;  // as in the CUDA sample; smaller than any packet
constexpr std::uint64_t access_bytes = 8;         // size of an atomic addition and of a flag
/// Largest default size of slow test cases:
///
/// - many concurrent copies through one host memory, whose buffers take longer to create than to copy
/// - both directions between a GPU and host memory by copy engines, whose rates differ by a tenth (8 and 9 copies take
///   10 ms; kernels reach a tenth less than with 512 MiB, so they are not reduced)
/// - copies without peer access, which the driver moves in small pieces (five turns of both directions take 10 ms)
constexpr std::uint64_t loaded_bytes = 64 * MiB;

std::uint64_t bytes_of(const TestCase& t, const Backend& backend, const PlanOptions& options) {
  if (t.metric == Metric::latency) {
    if (t.engine == Engine::mpi || t.operation == Operation::copy) return copy_latency_bytes;
    if (t.operation == Operation::visibility) return handover_bytes;
    return t.operation == Operation::chase ? backend.chase_bytes() : access_bytes;
  }
  const bool with_host = t.pattern == Pattern::host_to_device || t.pattern == Pattern::device_to_host;
  const bool bidirectional = with_host && t.metric == Metric::bidirectional && t.engine == Engine::ce;
  const bool through_host = t.load == Load::others || !t.peer_access || bidirectional;
  return options.may_shrink && through_host ? std::min(options.bytes, loaded_bytes) : options.bytes;
}

std::string quantity_of(const TestCase& t) {
  if (t.metric == Metric::bandwidth)
    return t.pattern == Pattern::inbound || t.pattern == Pattern::outbound ? "total bandwidth" : "bandwidth";
  if (t.metric == Metric::bidirectional) return "sum of both directions";
  if (t.engine == Engine::mpi) return "copy latency";
  switch (t.operation) {
    case Operation::copy:
      return "copy latency";
    case Operation::chase:
      return "load latency";
    case Operation::atomic:
      return "atomic latency";
    case Operation::flag:
      return "round trip";
    case Operation::visibility:
      return "handover";
  }
  return "latency";
}

std::string transport_of(const TestCase& t, const Backend& backend) {
  if (t.engine == Engine::mpi) return "mpi";
  if (!t.peer_access) return "staged";
  return backend.name() == "ipc" ? "ipc" : "direct";
}

/// Sets the labels of the result and creates the cells of the test case's pattern.
std::vector<CopyCell> lay_out(const TestCase& t, const Backend& backend, const CopyMaker& copy,
                              const PlanOptions& options, MatrixResult& result) {
  const Axis devices = axis(backend, EndpointKind::device), host = axis(backend, EndpointKind::host);
  std::vector<CopyCell> cells;
  switch (t.pattern) {
    case Pattern::pairs:
      result.set_labels(devices.labels, devices.labels);
      result.triangle = options.triangle;
      cells = pair_cells(t, devices.endpoints, copy);
      if (options.triangle) std::erase_if(cells, [](const CopyCell& cell) { return cell.row > cell.column; });
      result.local_copy = options.local_copy && pairs_with_themselves(t);
      if (result.local_copy)
        for (CopyCell& cell : local_cells(devices.labels.size(), devices.endpoints, copy))
          cells.push_back(std::move(cell));
      return cells;
    case Pattern::host_to_device:
      result.set_labels(host.labels, devices.labels);
      return grid_cells(t, host, devices, copy);
    case Pattern::device_to_host:
      result.set_labels(devices.labels, host.labels);
      return grid_cells(t, devices, host, copy);
    case Pattern::local:
      result.set_labels({"local"}, devices.labels);
      return local_cells(1, devices.endpoints, copy);
    case Pattern::inbound:
      result.set_labels({"all"}, devices.labels);
      return fan_cells(true, backend, devices.endpoints, copy);
    case Pattern::outbound:
      result.set_labels(devices.labels, {"all"});
      return fan_cells(false, backend, devices.endpoints, copy);
    case Pattern::nodes:  // only ranks have it, and no copies
      break;
  }
  throw BadInput("test case '" + std::string(t.name) + "' has no pattern");
}

void describe(const TestCase& t, const Backend& backend, const PlanOptions& options, std::uint64_t bytes,
              MatrixResult& result) {
  result.testcase = t.name;
  result.metric = t.metric;
  result.quantity = quantity_of(t);
  result.direction = t.direction;
  result.engine = t.engine;
  result.memory = memory_of(t);
  result.transport = transport_of(t, backend);
  if (copies_by_kernel(t)) {
    result.kernel = t.kernel.value_or(options.kernel);
    result.blocks = options.blocks;
    result.threads = options.threads;
  }
  if (result.memory == Memory::host && t.engine != Engine::mpi) result.host_pages = backend.host_pages();
  if (memory_of(t) == Memory::device && t.pattern != Pattern::local && backend.name() != "host")
    result.peer_access = t.peer_access;
  result.unit = t.metric == Metric::latency ? "us" : "GB/s";
  result.size_bytes = bytes;
  result.offset = t.metric == Metric::latency ? 0 : options.offset;
}

struct Path {
  std::string link_class;
  std::optional<double> limit;  ///< GB/s of one direction
};

Path path_of(const TestCase& t, const Backend& backend, const CopyCell& cell) {
  const Topology& topology = backend.topology();
  const auto endpoint = [&](int e) -> const Endpoint& { return backend.endpoints()[static_cast<std::size_t>(e)]; };
  const Copy& copy = cell.copies.front();
  switch (t.pattern) {
    case Pattern::pairs:
      if (cell.row == cell.column) return {"LOCAL", std::nullopt};
      return {topology.link_class(cell.row, cell.column), topology.limit(cell.row, cell.column)};
    case Pattern::local:
      return {"LOCAL", std::nullopt};
    case Pattern::inbound:
      return {"ALL", endpoint(copy.destination).link_limit};
    case Pattern::outbound:
      return {"ALL", endpoint(copy.source).link_limit};
    case Pattern::host_to_device:
      return {"HOST", endpoint(copy.destination).host_limit};
    case Pattern::device_to_host:
      return {"HOST", endpoint(copy.source).host_limit};
    case Pattern::nodes:
      break;
  }
  return {"", std::nullopt};
}

/// Sets link class and limit of each cell, from the topology or from --limit.
void classify(const TestCase& t, const Backend& backend, const PlanOptions& options, Plan& plan) {
  const bool both = t.metric == Metric::bidirectional;
  for (std::size_t d = 0; t.pattern == Pattern::pairs && d < plan.result.rows.size(); ++d)
    plan.result.link_class(d, d) = "X";
  for (const CopyCell& cell : plan.cells) {
    if (cell.copies.empty()) continue;
    auto [link_class, limit] = path_of(t, backend, cell);
    if (const auto own = options.limits.find(link_class); own != options.limits.end()) limit = own->second;
    if (!has_limit(t)) limit.reset();
    for (const bool back : {false, true}) {
      if (back && (!both || t.pattern != Pattern::pairs)) continue;
      const std::size_t row = back ? cell.column : cell.row, column = back ? cell.row : cell.column;
      plan.result.link_class(row, column) = link_class;
      if (limit) plan.result.limit(row, column) = *limit * (both ? 2 : 1);
    }
  }
}

/// Removes the cells of pairs without peer access, and sets their status.
void drop_unreachable(const TestCase& t, const Backend& backend, Plan& plan) {
  if (!t.peer_access || memory_of(t) == Memory::host || t.pattern == Pattern::local) return;
  const bool pairs = t.pattern == Pattern::pairs;
  std::erase_if(plan.cells, [&](const CopyCell& cell) {
    if (pairs ? reach_each_other(backend.topology(), cell.row, cell.column) : !cell.copies.empty()) return false;
    plan.result.status(cell.row, cell.column) = CellStatus::no_peer_access;
    if (t.metric == Metric::bidirectional) plan.result.status(cell.column, cell.row) = CellStatus::no_peer_access;
    return true;
  });
  const bool only_local = std::all_of(plan.cells.begin(), plan.cells.end(),
                                      [&](const CopyCell& cell) { return pairs && cell.row == cell.column; });
  if (only_local)
    throw BadInput(
        "--testcase " + std::string(t.name) +
        " cannot run here: no pair of devices has peer access; choose a test case *_peer_off, which needs none");
}

}  // namespace

std::optional<std::string> why_not(const TestCase& t, const Backend& backend, const PlanOptions& options) {
  const auto devices = axis(backend, EndpointKind::device).endpoints,
             host = axis(backend, EndpointKind::host).endpoints;
  const bool with_host = t.pattern == Pattern::host_to_device || t.pattern == Pattern::device_to_host;
  const std::size_t needed = with_host || t.pattern == Pattern::local ? 1 : 2;
  if (devices.size() < needed)
    return "it needs " + std::to_string(needed) + " devices; the number of devices is " +
           std::to_string(devices.size());
  if (with_host && host.empty()) return "the back end '" + backend.name() + "' has no endpoint in host memory";
  const int first = t.pattern == Pattern::host_to_device ? host.front() : devices.front();
  const int second = t.pattern == Pattern::device_to_host ? host.front() : devices[needed == 1 ? 0 : 1];
  return backend.refusal(CopyMaker(t, options, MiB)(first, second));
}

Plan make_plan(const TestCase& t, const Backend& backend, const PlanOptions& options) {
  if (const auto reason = why_not(t, backend, options))
    throw BadInput("--testcase " + std::string(t.name) + " cannot run here: " + *reason);
  const std::uint64_t bytes = bytes_of(t, backend, options);
  Plan plan;
  describe(t, backend, options, bytes, plan.result);
  plan.cells = lay_out(t, backend, CopyMaker(t, options, bytes), options, plan.result);
  classify(t, backend, options, plan);
  drop_unreachable(t, backend, plan);
  for (const CopyCell& cell : plan.cells) {
    plan.result.status(cell.row, cell.column) = CellStatus::not_run;
    if (t.pattern == Pattern::pairs && t.metric == Metric::bidirectional && !options.triangle)
      plan.result.status(cell.column, cell.row) = CellStatus::not_run;
  }
  if (t.load == Load::everyone) plan.rounds = shifts(plan.cells, plan.result.rows.size());
  return plan;
}

}  // namespace linkmatrix
