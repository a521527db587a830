#include "p2p/testcases.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iomanip>
#include <iterator>
#include <sstream>

#include "core/command_line.hpp"
#include "core/json.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

struct Suite {
  std::string_view name;
  bool (*has)(const TestCase&);
};

bool is_pair_ce(const TestCase& t, Direction direction) {
  return t.pattern == Pattern::pairs && t.engine == Engine::ce && t.direction == direction && t.load == Load::none;
}

/// Suite `quick`, a health check before a job: unidirectional copies by copy engines without load, load latencies,
/// local copies.
bool is_quick(const TestCase& t) {
  if (t.engine == Engine::mpi) return !t.one_sided;
  if (!t.peer_access || t.load != Load::none) return false;
  if (t.metric == Metric::latency) return t.operation == Operation::chase;
  return t.engine == Engine::ce &&
         (t.pattern == Pattern::pairs ? t.direction == Direction::write
                                      : t.pattern != Pattern::inbound && t.pattern != Pattern::outbound);
}

bool is_nvbandwidth(const TestCase& t) {
  const auto rows = nvbandwidth_testcases();
  return std::ranges::find(rows, t.name, &TestCase::name) != rows.end();
}

constexpr Suite suites[]{
    {"quick", is_quick},
    {"full", [](const TestCase&) { return true; }},
    {"nvbandwidth", is_nvbandwidth},
    {"bench-all",
     [](const TestCase& t) {
       return t.engine == Engine::mpi || (t.peer_access && t.pattern == Pattern::pairs && t.load == Load::none);
     }},
    {"p2p-write", [](const TestCase& t) { return is_pair_ce(t, Direction::write); }},
    {"p2p-read", [](const TestCase& t) { return is_pair_ce(t, Direction::read); }},
};

/// Returns the meaning of rows and columns.
std::pair<std::string_view, std::string_view> axes_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::pairs:
      return {"device", "device"};
    case Pattern::host_to_device:
      return {"host", "device"};
    case Pattern::device_to_host:
      return {"device", "host"};
    case Pattern::local:
      return {"local", "device"};
    case Pattern::inbound:
      return {"all", "device"};
    case Pattern::outbound:
      return {"device", "all"};
    case Pattern::nodes:
      break;
  }
  return {"node", "node"};
}

/// Returns the names of the additional matrices of a result. "enqueue" exists only for GPUs.
std::vector<std::string> tables_of(const TestCase& t) {
  if (t.metric == Metric::bidirectional) return {"one_direction"};
  if (t.load == Load::everyone) return {"isolated", "loss"};
  if (t.pattern == Pattern::nodes && t.metric == Metric::bandwidth) return {"message_rate"};
  if (has_fixed_size(t) && t.operation == Operation::copy) return {"enqueue"};
  return {};
}

/// Returns the name of the test case with this nvbandwidth number (its -t option). Returns other words unchanged.
std::string name_of(const std::string& word) {
  const bool is_number = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return word;
  const auto rows = nvbandwidth_testcases();
  if (word.size() > 3 || std::stoul(word) >= rows.size())
    throw BadInput("--testcase " + word + ": nvbandwidth's numbers are 0 to " + std::to_string(rows.size() - 1) +
                   ", in the order of --list: use the name of another test case");
  return std::string(rows[std::stoul(word)].name);
}

std::vector<TestCase> select(const std::function<bool(const TestCase&)>& wanted) {
  std::vector<TestCase> out;
  std::ranges::copy_if(all_testcases(), std::back_inserter(out), wanted);
  return out;
}

bool covers_every_link(const TestCase& t) { return t.pattern == Pattern::pairs || t.pattern == Pattern::nodes; }

bool is_copy(const TestCase& t, Metric metric) {
  return t.metric == metric && t.operation == Operation::copy && t.engine != Engine::sm && t.load == Load::none &&
         t.peer_access;
}

using Is = bool (*)(const TestCase&);

/// Conditions for sorted_by_information(), the most important first.
constexpr std::array<Is, 5> by_importance{
    [](const TestCase& t) {
      return covers_every_link(t) && is_copy(t, Metric::bandwidth) && t.direction == Direction::write && !t.one_sided;
    },
    [](const TestCase& t) { return t.pattern == Pattern::host_to_device && is_copy(t, Metric::bandwidth); },
    [](const TestCase& t) { return t.pattern == Pattern::device_to_host && is_copy(t, Metric::bandwidth); },
    [](const TestCase& t) { return covers_every_link(t) && is_copy(t, Metric::bidirectional) && !t.one_sided; },
    [](const TestCase& t) { return covers_every_link(t) && t.metric == Metric::latency && t.peer_access; },
};

std::size_t rank_of(const TestCase& t) {
  const auto found = std::ranges::find_if(by_importance, [&](Is is) { return is(t); });
  return static_cast<std::size_t>(found - by_importance.begin());
}

}  // namespace

Memory memory_of(const TestCase& testcase) {
  const bool host = testcase.pattern == Pattern::host_to_device || testcase.pattern == Pattern::device_to_host ||
                    testcase.engine == Engine::mpi;
  return host ? Memory::host : Memory::device;
}

bool has_fixed_size(const TestCase& t) { return t.metric == Metric::latency && t.engine != Engine::mpi; }

bool copies_by_kernel(const TestCase& t) { return t.engine == Engine::sm && t.operation == Operation::copy; }

bool pairs_with_themselves(const TestCase& t) {
  return t.pattern == Pattern::pairs && t.metric != Metric::bidirectional && t.operation == Operation::copy &&
         t.load == Load::none && t.engine != Engine::mpi;
}

bool has_limit(const TestCase& t) { return t.metric != Metric::latency && t.peer_access; }

std::string suite_names() {
  std::vector<std::string> names;
  for (const Suite& s : suites) names.emplace_back(s.name);
  return join(names);
}

std::string testcase_list() {
  std::ostringstream out;
  for (const TestCase& testcase : all_testcases())
    out << std::left << std::setw(60) << testcase.name << testcase.description << '\n';
  return out.str();
}

std::vector<TestCase> suite(std::string_view name) {
  for (const Suite& s : suites)
    if (s.name == name) return select(s.has);
  throw BadInput("unknown --suite '" + std::string(name) + "': use " + suite_names());
}

std::string testcases_json() {
  std::string out;
  for (const TestCase& t : all_testcases()) {
    const auto [rows, columns] = axes_of(t.pattern);
    std::vector<std::string> names;
    for (const Suite& s : suites)
      if (s.has(t)) names.emplace_back(s.name);
    JsonWriter row;
    row.begin_object().member("name", t.name).member("description", t.description);
    row.member("rows", rows).member("columns", columns).member("metric", word(t.metric));
    row.member("engine", word(t.engine)).member("own_size", has_fixed_size(t));
    row.member("tables", tables_of(t)).member("suites", names).end_object();
    out += (out.empty() ? "[\n" : ",\n") + row.text();
  }
  return out + "\n]\n";
}

std::vector<TestCase> named_testcases(std::string_view names) {
  std::vector<std::string> present;
  for (const std::string& word : split(names, ',')) present.push_back(name_of(word));
  return select_by_name(all_testcases(), present, &TestCase::name);
}

bool Axes::match(const TestCase& t) const {
  return (!metric || *metric == t.metric) && (!engine || *engine == t.engine) &&
         (!direction || *direction == t.direction) && (!memory || *memory == memory_of(t)) &&
         peer_access.value_or(true) == t.peer_access && t.load == Load::none && !t.kernel &&
         t.operation != Operation::visibility;  // its result is no rate
}

std::vector<TestCase> matching_testcases(const Axes& axes) {
  auto found = select([&](const TestCase& t) { return axes.match(t); });
  if (found.empty())
    throw BadInput(
        "no test case has this combination of --metric, --engine, --direction, --memory and --peer-access: "
        "--list shows all");
  return found;
}

std::vector<TestCase> sorted_by_information(std::vector<TestCase> testcases) {
  std::ranges::stable_sort(testcases, {}, rank_of);
  return testcases;
}

}  // namespace linkmatrix
