#include "p2p/testcases.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "core/command_line.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

using enum Pattern;
constexpr auto bw = Metric::bandwidth, bidir = Metric::bidirectional, lat = Metric::latency;
constexpr auto copy = Operation::copy, chase = Operation::chase;
constexpr auto ce = Engine::ce, sm = Engine::sm, mpi = Engine::mpi;
constexpr auto write = Direction::write, read = Direction::read;

// A colleague adds a test case by adding a row.
// clang-format off
constexpr std::array table{
    TestCase{"host_to_device_memcpy_ce", "host memory to each device by its copy engine", host_to_device, bw, copy, ce, read},
    TestCase{"device_to_host_memcpy_ce", "each device to host memory by its copy engine", device_to_host, bw, copy, ce, write},
    TestCase{"host_to_device_bidirectional_memcpy_ce", "host memory to each device and back at once, sum; copy engines", host_to_device, bidir, copy, ce, read},
    TestCase{"device_to_host_bidirectional_memcpy_ce", "each device to host memory and back at once, sum; copy engines", device_to_host, bidir, copy, ce, write},
    TestCase{"device_to_device_memcpy_read_ce", "each pair; the destination's copy engine pulls", pairs, bw, copy, ce, read},
    TestCase{"device_to_device_memcpy_write_ce", "each pair; the source's copy engine pushes", pairs, bw, copy, ce, write},
    TestCase{"device_to_device_bidirectional_memcpy_read_ce", "each pair, both ways at once, sum; copy engines pull", pairs, bidir, copy, ce, read},
    TestCase{"device_to_device_bidirectional_memcpy_write_ce", "each pair, both ways at once, sum; copy engines push", pairs, bidir, copy, ce, write},
    TestCase{"host_to_device_memcpy_sm", "host memory to each device by a kernel on it", host_to_device, bw, copy, sm, read},
    TestCase{"device_to_host_memcpy_sm", "each device to host memory by a kernel on it", device_to_host, bw, copy, sm, write},
    TestCase{"device_to_device_memcpy_read_sm", "each pair; a kernel on the destination pulls", pairs, bw, copy, sm, read},
    TestCase{"device_to_device_memcpy_write_sm", "each pair; a kernel on the source pushes", pairs, bw, copy, sm, write},
    TestCase{"device_to_device_bidirectional_memcpy_read_sm", "each pair, both ways at once, sum; kernels pull", pairs, bidir, copy, sm, read},
    TestCase{"device_to_device_bidirectional_memcpy_write_sm", "each pair, both ways at once, sum; kernels push", pairs, bidir, copy, sm, write},
    TestCase{"host_device_latency_sm", "load latency: a pointer chase by the device through host memory", host_to_device, lat, chase, sm, read},
    TestCase{"device_to_device_latency_sm", "load latency: a pointer chase by the destination through the source's memory", pairs, lat, chase, sm, read},
    TestCase{"device_local_copy", "inside each device by its copy engine; bytes counted once", local, bw, copy, ce, write},
    TestCase{"device_to_device_copy_latency_read_ce", "copy latency of 16 bytes, pulled by the copy engine; and the time to enqueue it", pairs, lat, copy, ce, read},
    TestCase{"device_to_device_copy_latency_write_ce", "copy latency of 16 bytes, pushed by the copy engine; and the time to enqueue it", pairs, lat, copy, ce, write},
    TestCase{"device_to_device_copy_latency_read_sm", "copy latency of 16 bytes, pulled by a kernel; and the time to enqueue it", pairs, lat, copy, sm, read},
    TestCase{"device_to_device_copy_latency_write_sm", "copy latency of 16 bytes, pushed by a kernel; and the time to enqueue it", pairs, lat, copy, sm, write},
    TestCase{"device_to_device_memcpy_write_ce_peer_off", "each pair without peer access: staged through host memory", pairs, bw, copy, ce, write, false},
    TestCase{"device_to_device_bidirectional_memcpy_write_ce_peer_off", "each pair, both ways at once, sum; without peer access", pairs, bidir, copy, ce, write, false},
    TestCase{"device_to_device_copy_latency_write_ce_peer_off", "copy latency of 16 bytes without peer access; and the time to enqueue it", pairs, lat, copy, ce, write, false},
    TestCase{"rank_to_rank_bandwidth_mpi", "under mpirun: each pair of ranks, host memory, sends of a window", pairs, bw, copy, mpi, write},
    TestCase{"rank_to_rank_bidirectional_mpi", "under mpirun: each pair of ranks, both ways at once, sum", pairs, bidir, copy, mpi, write},
    TestCase{"rank_to_rank_latency_mpi", "under mpirun: half of a ping-pong's round trip of 16 bytes", pairs, lat, chase, mpi, write},
};
// clang-format on

struct Suite {
  std::string_view name;
  bool (*has)(const TestCase&);
};

bool is_write_ce(const TestCase& t) { return t.pattern == pairs && t.engine == ce && t.direction == write; }
bool is_read_ce(const TestCase& t) { return t.pattern == pairs && t.engine == ce && t.direction == read; }

constexpr std::array suites{
    Suite{"quick",
          [](const TestCase& t) { return t.peer_access && (is_write_ce(t) || t.pattern != pairs || t.engine == mpi); }},
    Suite{"full", [](const TestCase&) { return true; }},
    Suite{"bench-all", [](const TestCase& t) { return t.peer_access && (t.pattern == pairs || t.engine == mpi); }},
    Suite{"p2p-write", [](const TestCase& t) { return is_write_ce(t); }},
    Suite{"p2p-read", [](const TestCase& t) { return is_read_ce(t); }},
};

std::vector<TestCase> select(const std::function<bool(const TestCase&)>& wanted) {
  std::vector<TestCase> out;
  std::copy_if(table.begin(), table.end(), std::back_inserter(out), wanted);
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
    const auto row = std::find_if(table.begin(), table.end(), [&](const TestCase& t) { return t.name == name; });
    if (row == table.end()) {
      std::vector<std::string> known;
      for (const TestCase& t : table) known.emplace_back(t.name);
      throw BadInput("unknown --testcase '" + name + "': did you mean " + nearest(name, known) + "? --list shows all");
    }
    out.push_back(*row);
  }
  return out;
}

bool Axes::match(const TestCase& t) const {
  return (!metric || *metric == t.metric) && (!engine || *engine == t.engine) &&
         (!direction || *direction == t.direction) && (!memory || *memory == memory_of(t)) &&
         peer_access.value_or(true) == t.peer_access;
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
