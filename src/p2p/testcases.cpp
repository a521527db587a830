#include "p2p/testcases.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/command_line.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

using enum Pattern;
using enum Load;
constexpr auto bw = Metric::bandwidth, bidir = Metric::bidirectional, lat = Metric::latency;
constexpr auto copy = Operation::copy, chase = Operation::chase, atomic = Operation::atomic, flag = Operation::flag;
constexpr auto ce = Engine::ce, sm = Engine::sm, mpi = Engine::mpi;
constexpr auto write = Direction::write, read = Direction::read;

// A colleague adds a test case by adding a row.
// clang-format off
constexpr TestCase table[]{
    {"host_to_device_memcpy_ce", "host memory to each device by its copy engine", host_to_device, bw, copy, ce, read},
    {"device_to_host_memcpy_ce", "each device to host memory by its copy engine", device_to_host, bw, copy, ce, write},
    {"host_to_device_bidirectional_memcpy_ce", "host memory to each device and back at once, sum; copy engines", host_to_device, bidir, copy, ce, read},
    {"device_to_host_bidirectional_memcpy_ce", "each device to host memory and back at once, sum; copy engines", device_to_host, bidir, copy, ce, write},
    {"device_to_device_memcpy_read_ce", "each pair; the destination's copy engine pulls", pairs, bw, copy, ce, read},
    {"device_to_device_memcpy_write_ce", "each pair; the source's copy engine pushes", pairs, bw, copy, ce, write},
    {"device_to_device_bidirectional_memcpy_read_ce", "each pair, both ways at once, sum; copy engines pull", pairs, bidir, copy, ce, read},
    {"device_to_device_bidirectional_memcpy_write_ce", "each pair, both ways at once, sum; copy engines push", pairs, bidir, copy, ce, write},
    {"all_to_host_memcpy_ce", "each device to host memory while all others do the same; copy engines", device_to_host, bw, copy, ce, write, true, others},
    {"all_to_host_bidirectional_memcpy_ce", "each device to host memory and back, sum, while all others do the same; copy engines", device_to_host, bidir, copy, ce, write, true, others},
    {"host_to_all_memcpy_ce", "host memory to each device while all others do the same; copy engines", host_to_device, bw, copy, ce, read, true, others},
    {"host_to_all_bidirectional_memcpy_ce", "host memory to each device and back, sum, while all others do the same; copy engines", host_to_device, bidir, copy, ce, read, true, others},
    {"all_to_one_write_ce", "into each device from all others at once, total; their copy engines push", inbound, bw, copy, ce, write},
    {"all_to_one_read_ce", "out of each device to all others at once, total; their copy engines pull", outbound, bw, copy, ce, read},
    {"one_to_all_write_ce", "out of each device to all others at once, total; its copy engines push", outbound, bw, copy, ce, write},
    {"one_to_all_read_ce", "into each device from all others at once, total; its copy engines pull", inbound, bw, copy, ce, read},
    {"host_to_device_memcpy_sm", "host memory to each device by a kernel on it", host_to_device, bw, copy, sm, read},
    {"device_to_host_memcpy_sm", "each device to host memory by a kernel on it", device_to_host, bw, copy, sm, write},
    {"host_to_device_bidirectional_memcpy_sm", "host memory to each device and back at once, sum; kernels on it", host_to_device, bidir, copy, sm, read},
    {"device_to_host_bidirectional_memcpy_sm", "each device to host memory and back at once, sum; kernels on it", device_to_host, bidir, copy, sm, write},
    {"device_to_device_memcpy_read_sm", "each pair; a kernel on the destination pulls", pairs, bw, copy, sm, read},
    {"device_to_device_memcpy_write_sm", "each pair; a kernel on the source pushes", pairs, bw, copy, sm, write},
    {"device_to_device_bidirectional_memcpy_read_sm", "each pair, both ways at once, sum; kernels pull", pairs, bidir, copy, sm, read},
    {"device_to_device_bidirectional_memcpy_write_sm", "each pair, both ways at once, sum; kernels push", pairs, bidir, copy, sm, write},
    {"all_to_host_memcpy_sm", "each device to host memory while all others do the same; kernels", device_to_host, bw, copy, sm, write, true, others},
    {"all_to_host_bidirectional_memcpy_sm", "each device to host memory and back, sum, while all others do the same; kernels", device_to_host, bidir, copy, sm, write, true, others},
    {"host_to_all_memcpy_sm", "host memory to each device while all others do the same; kernels", host_to_device, bw, copy, sm, read, true, others},
    {"host_to_all_bidirectional_memcpy_sm", "host memory to each device and back, sum, while all others do the same; kernels", host_to_device, bidir, copy, sm, read, true, others},
    {"all_to_one_write_sm", "into each device from all others at once, total; kernels on them push", inbound, bw, copy, sm, write},
    {"all_to_one_read_sm", "out of each device to all others at once, total; kernels on them pull", outbound, bw, copy, sm, read},
    {"one_to_all_write_sm", "out of each device to all others at once, total; kernels on it push", outbound, bw, copy, sm, write},
    {"one_to_all_read_sm", "into each device from all others at once, total; kernels on it pull", inbound, bw, copy, sm, read},
    {"host_device_latency_sm", "load latency: a pointer chase by the device through host memory", host_to_device, lat, chase, sm, read},
    {"device_to_device_latency_sm", "load latency: a pointer chase by the destination through the source's memory", pairs, lat, chase, sm, read},
    {"device_local_copy", "inside each device by its copy engine; bytes counted once", local, bw, copy, ce, write},
    // What follows nvbandwidth does not have: small copies and single accesses, ...
    {"device_to_device_copy_latency_read_ce", "copy latency of 16 bytes, pulled by the copy engine; and the time to enqueue it", pairs, lat, copy, ce, read},
    {"device_to_device_copy_latency_write_ce", "copy latency of 16 bytes, pushed by the copy engine; and the time to enqueue it", pairs, lat, copy, ce, write},
    {"device_to_device_copy_latency_read_sm", "copy latency of 16 bytes, pulled by a kernel; and the time to enqueue it", pairs, lat, copy, sm, read},
    {"device_to_device_copy_latency_write_sm", "copy latency of 16 bytes, pushed by a kernel; and the time to enqueue it", pairs, lat, copy, sm, write},
    {"device_to_device_atomic_latency_sm", "atomic latency: additions by the destination in the source's memory, each waiting for the last", pairs, lat, atomic, sm, read},
    {"device_to_device_flag_latency_sm", "round trip of a flag of 8 bytes that the two devices write into each other's memory", pairs, lat, flag, sm, write},
    // ... the other copy kernels, ...
    {"device_to_device_memcpy_read_sm_cached", "each pair; plain loads and stores pull", pairs, bw, copy, sm, read, true, none, Kernel::cached},
    {"device_to_device_memcpy_write_sm_cached", "each pair; plain loads and stores push", pairs, bw, copy, sm, write, true, none, Kernel::cached},
    {"device_to_device_bidirectional_memcpy_read_sm_cached", "each pair, both ways at once, sum; plain loads and stores pull", pairs, bidir, copy, sm, read, true, none, Kernel::cached},
    {"device_to_device_bidirectional_memcpy_write_sm_cached", "each pair, both ways at once, sum; plain loads and stores push", pairs, bidir, copy, sm, write, true, none, Kernel::cached},
    {"device_to_device_copy_latency_read_sm_cached", "copy latency of 16 bytes, pulled by plain loads and stores; and the time to enqueue it", pairs, lat, copy, sm, read, true, none, Kernel::cached},
    {"device_to_device_copy_latency_write_sm_cached", "copy latency of 16 bytes, pushed by plain loads and stores; and the time to enqueue it", pairs, lat, copy, sm, write, true, none, Kernel::cached},
    {"device_to_device_memcpy_read_sm_bulk", "each pair; bulk asynchronous copies pull", pairs, bw, copy, sm, read, true, none, Kernel::bulk},
    {"device_to_device_memcpy_write_sm_bulk", "each pair; bulk asynchronous copies push", pairs, bw, copy, sm, write, true, none, Kernel::bulk},
    {"device_to_device_bidirectional_memcpy_read_sm_bulk", "each pair, both ways at once, sum; bulk asynchronous copies pull", pairs, bidir, copy, sm, read, true, none, Kernel::bulk},
    {"device_to_device_bidirectional_memcpy_write_sm_bulk", "each pair, both ways at once, sum; bulk asynchronous copies push", pairs, bidir, copy, sm, write, true, none, Kernel::bulk},
    {"device_to_device_copy_latency_read_sm_bulk", "copy latency of 16 bytes, pulled by a bulk copy; and the time to enqueue it", pairs, lat, copy, sm, read, true, none, Kernel::bulk},
    {"device_to_device_copy_latency_write_sm_bulk", "copy latency of 16 bytes, pushed by a bulk copy; and the time to enqueue it", pairs, lat, copy, sm, write, true, none, Kernel::bulk},
    // ... no peer access, ...
    {"device_to_device_memcpy_write_ce_peer_off", "each pair without peer access: staged through host memory", pairs, bw, copy, ce, write, false},
    {"device_to_device_bidirectional_memcpy_write_ce_peer_off", "each pair, both ways at once, sum; without peer access", pairs, bidir, copy, ce, write, false},
    {"device_to_device_copy_latency_write_ce_peer_off", "copy latency of 16 bytes without peer access; and the time to enqueue it", pairs, lat, copy, ce, write, false},
    // ... every device sending and receiving at once, ...
    {"device_to_device_memcpy_read_ce_stress", "each pair while every device sends and receives; copy engines pull", pairs, bw, copy, ce, read, true, everyone},
    {"device_to_device_memcpy_write_ce_stress", "each pair while every device sends and receives; copy engines push", pairs, bw, copy, ce, write, true, everyone},
    {"device_to_device_memcpy_read_sm_stress", "each pair while every device sends and receives; kernels pull", pairs, bw, copy, sm, read, true, everyone},
    {"device_to_device_memcpy_write_sm_stress", "each pair while every device sends and receives; kernels push", pairs, bw, copy, sm, write, true, everyone},
    // ... and ranks.
    {"rank_to_rank_bandwidth_mpi", "under mpirun: each pair of ranks, a window of messages", pairs, bw, copy, mpi, write},
    {"rank_to_rank_bidirectional_mpi", "under mpirun: each pair of ranks, a window both ways at once, sum", pairs, bidir, copy, mpi, write},
    {"rank_to_rank_latency_mpi", "under mpirun: half of a ping-pong's round trip, 16 bytes unless told", pairs, lat, copy, mpi, write},
    {"rank_to_rank_put_bandwidth_mpi", "under mpirun: each pair of ranks, a window of one-sided puts and a flush", pairs, bw, copy, mpi, write, true, none, std::nullopt, true},
    {"rank_to_rank_put_bidirectional_mpi", "under mpirun: each pair of ranks, a window of one-sided puts both ways at once and a flush, sum", pairs, bidir, copy, mpi, write, true, none, std::nullopt, true},
    {"rank_to_rank_put_latency_mpi", "under mpirun: one one-sided put and a flush, 16 bytes unless told", pairs, lat, copy, mpi, write, true, none, std::nullopt, true},
    {"node_to_node_bandwidth_mpi", "under mpirun: each pair of nodes, all their ranks at once, total; and the message rate", nodes, bw, copy, mpi, write},
    {"node_to_node_bidirectional_mpi", "under mpirun: each pair of nodes, all their ranks both ways at once, sum", nodes, bidir, copy, mpi, write},
    {"node_to_node_latency_mpi", "under mpirun: each pair of nodes, half of a ping-pong's round trip, mean of all their ranks at once", nodes, lat, copy, mpi, write},
};
// clang-format on

struct Suite {
  std::string_view name;
  bool (*has)(const TestCase&);
};

bool is_pair_ce(const TestCase& t, Direction direction) {
  return t.pattern == pairs && t.engine == ce && t.direction == direction && t.load == none;
}

/// Copy engines without load, one way each, loads through the links, local copies: a health check before a job.
bool is_quick(const TestCase& t) {
  if (t.engine == mpi) return !t.one_sided;
  if (!t.peer_access || t.load != none) return false;
  if (t.metric == lat) return t.operation == chase;
  return t.engine == ce && (t.pattern == pairs ? t.direction == write : t.pattern != inbound && t.pattern != outbound);
}

/// The 35 of nvbandwidth 0.8 for one node.
bool is_nvbandwidth(const TestCase& t) {
  const bool latency_of_copies = t.metric == lat && t.operation != chase;
  return t.engine != mpi && t.peer_access && t.load != everyone && !t.kernel && !latency_of_copies;
}

constexpr Suite suites[]{
    {"quick", is_quick},
    {"full", [](const TestCase&) { return true; }},
    {"nvbandwidth", is_nvbandwidth},
    {"bench-all",
     [](const TestCase& t) { return t.engine == mpi || (t.peer_access && t.pattern == pairs && t.load == none); }},
    {"p2p-write", [](const TestCase& t) { return is_pair_ce(t, write); }},
    {"p2p-read", [](const TestCase& t) { return is_pair_ce(t, read); }},
};

std::vector<TestCase> select(const std::function<bool(const TestCase&)>& wanted) {
  std::vector<TestCase> out;
  std::copy_if(std::begin(table), std::end(table), std::back_inserter(out), wanted);
  return out;
}

}  // namespace

std::span<const TestCase> all_testcases() { return table; }

Memory memory_of(const TestCase& testcase) {
  const bool host = testcase.pattern == host_to_device || testcase.pattern == device_to_host || testcase.engine == mpi;
  return host ? Memory::host : Memory::device;
}

std::string suite_names() {
  std::vector<std::string> names;
  for (const Suite& s : suites) names.emplace_back(s.name);
  return join(names);
}

std::vector<TestCase> suite(std::string_view name) {
  for (const Suite& s : suites)
    if (s.name == name) return select(s.has);
  throw BadInput("unknown --suite '" + std::string(name) + "': use " + suite_names());
}

std::vector<TestCase> named_testcases(std::string_view names) {
  std::vector<TestCase> out;
  for (const std::string& name : split(names, ',')) {
    const auto row =
        std::find_if(std::begin(table), std::end(table), [&](const TestCase& t) { return t.name == name; });
    if (row == std::end(table)) {
      std::vector<std::string> known;
      for (const TestCase& t : table) known.emplace_back(t.name);
      throw BadInput("unknown --testcase '" + name + "': did you mean " + nearest(name, known) + "? --list shows all");
    }
    if (std::any_of(out.begin(), out.end(), [&](const TestCase& t) { return t.name == name; }))
      throw BadInput("--testcase names '" + name + "' twice: name each once");
    out.push_back(*row);
  }
  return out;
}

bool Axes::match(const TestCase& t) const {
  return (!metric || *metric == t.metric) && (!engine || *engine == t.engine) &&
         (!direction || *direction == t.direction) && (!memory || *memory == memory_of(t)) &&
         peer_access.value_or(true) == t.peer_access && t.load == none && !t.kernel;
}

std::vector<TestCase> matching_testcases(const Axes& axes) {
  auto found = select([&](const TestCase& t) { return axes.match(t); });
  if (found.empty())
    throw BadInput(
        "no test case has this combination of --metric, --engine, --direction, --memory and --peer-access: "
        "--list shows all");
  return found;
}

}  // namespace linkmatrix
