#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"

namespace linkmatrix {

/// Rows and columns of a matrix.
enum class Pattern {
  pairs,           ///< every device with every other device
  host_to_device,  ///< rows: host memory; columns: devices
  device_to_host,  ///< rows: devices; columns: host memory
  local,           ///< each device with itself
  inbound,         ///< all other devices to each device, summed
  outbound,        ///< each device to all other devices, summed
  nodes,           ///< every node with every other node, all ranks concurrently
};

/// Load during the measurement of a cell.
enum class Load {
  none,      ///< no other copy shares a resource with the cell
  others,    ///< all other devices make the same copies, which are not measured
  everyone,  ///< every device sends and receives; each of these copies is measured
};

/// A test case: its copies, their engine, and its metric.
struct TestCase {
  std::string_view name;
  std::string_view description;
  Pattern pattern;
  Metric metric = Metric::bandwidth;
  Operation operation = Operation::copy;
  Engine engine = Engine::ce;
  Direction direction = Direction::write;
  bool peer_access = true;
  Load load = Load::none;
  std::optional<Kernel> kernel = std::nullopt;  ///< engine sm; nothing: chosen by --kernel
  bool one_sided = false;                       ///< engine mpi: one-sided puts
};

/// Returns all test cases, in the order of --list. Test cases of nvbandwidth have its names. The result stays valid.
std::span<const TestCase> all_testcases();

/// Returns the text of --list.
std::string testcase_list();

/// Returns the 35 test cases of nvbandwidth 0.8 for one node.
std::span<const TestCase> nvbandwidth_testcases();

/// Returns the test cases between ranks.
std::span<const TestCase> rank_testcases();

/// Returns the test cases of a suite. Throws BadInput for an unknown name.
std::vector<TestCase> suite(std::string_view name);

/// Returns the names of all suites, "quick, full …", for --help.
std::string suite_names();

/// Returns all test cases as JSON, one per line, as in checks/testcases.json.
std::string testcases_json();

/// Returns the test cases in "a,b,c". A number is that of a test case of nvbandwidth, from 0. Throws BadInput for a
/// duplicate or unknown name, with the nearest known one.
std::vector<TestCase> named_testcases(std::string_view names);

/// Selects test cases by properties. A missing property matches every value. Test cases with load or with a fixed
/// kernel never match.
struct Axes {
  std::optional<Metric> metric;
  std::optional<Engine> engine;
  std::optional<Direction> direction;
  std::optional<Memory> memory;
  std::optional<bool> peer_access;

  bool any() const { return metric || engine || direction || memory || peer_access; }
  bool match(const TestCase& testcase) const;
};

/// Returns the matching test cases. Axes::peer_access defaults to true. Throws BadInput if none matches.
std::vector<TestCase> matching_testcases(const Axes& axes);

/// Returns Memory::host if the test case uses host memory, else Memory::device.
Memory memory_of(const TestCase& testcase);

/// Returns whether the test case has a fixed size: latencies, except those of messages.
bool has_fixed_size(const TestCase& testcase);

/// Returns whether a copy kernel moves the data.
bool copies_by_kernel(const TestCase& testcase);

/// Returns whether --local-copy applies: it adds copies inside each device on the diagonal.
bool pairs_with_themselves(const TestCase& testcase);

/// Returns whether the limit of a link applies to the test case.
bool has_limit(const TestCase& testcase);

/// Time budget of a run (--budget). The first test case always starts. A further one starts only if the longest test
/// case so far would fit into the remaining time. A matrix is therefore complete or absent.
class Budget {
 public:
  /// seconds: the budget; nothing: unlimited.
  explicit Budget(std::optional<double> seconds)
      : seconds_{seconds.value_or(std::numeric_limits<double>::infinity())} {}

  /// Returns whether a further test case may start. used: seconds since the start of the run.
  bool has_room(double used) const { return first_ || used + longest_ <= seconds_; }
  /// Records the duration of a test case.
  void record_duration(double seconds) { first_ = false, longest_ = std::max(seconds, longest_); }

 private:
  double seconds_, longest_ = 0;
  bool first_ = true;
};

/// Default of --timeout minus --budget in seconds: the time limit of a round that hangs.
constexpr double time_beyond_budget = 30;

/// Sorts test cases for --budget: all links in one direction, paths to and from host memory, bidirectional copies,
/// latencies, then the others. Stable.
std::vector<TestCase> sorted_by_information(std::vector<TestCase> testcases);

}  // namespace linkmatrix
