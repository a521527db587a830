#include "p2p/budget.hpp"

#include <array>

namespace linkmatrix {
namespace {

bool of_every_link(const TestCase& t) { return t.pattern == Pattern::pairs || t.pattern == Pattern::nodes; }

bool is_copy(const TestCase& t, Metric metric) {
  return t.metric == metric && t.operation == Operation::copy && t.engine != Engine::sm && t.load == Load::none &&
         t.peer_access;
}

using Is = bool (*)(const TestCase&);

/// Test cases by importance. All others come after these.
constexpr std::array<Is, 5> telling{
    [](const TestCase& t) {
      return of_every_link(t) && is_copy(t, Metric::bandwidth) && t.direction == Direction::write && !t.one_sided;
    },
    [](const TestCase& t) { return t.pattern == Pattern::host_to_device && is_copy(t, Metric::bandwidth); },
    [](const TestCase& t) { return t.pattern == Pattern::device_to_host && is_copy(t, Metric::bandwidth); },
    [](const TestCase& t) { return of_every_link(t) && is_copy(t, Metric::bidirectional) && !t.one_sided; },
    [](const TestCase& t) { return of_every_link(t) && t.metric == Metric::latency && t.peer_access; },
};

std::size_t rank_of(const TestCase& t) {
  const auto found = std::ranges::find_if(telling, [&](Is is) { return is(t); });
  return static_cast<std::size_t>(found - telling.begin());
}

}  // namespace

std::vector<TestCase> most_telling_first(std::vector<TestCase> testcases) {
  std::ranges::stable_sort(testcases, {}, rank_of);
  return testcases;
}

}  // namespace linkmatrix
