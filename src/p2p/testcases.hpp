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

/// Endpoints of rows and columns of a matrix.
enum class Pattern {
  pairs,           ///< every device with every other device
  host_to_device,  ///< rows: host memory; columns: devices
  device_to_host,  ///< rows: devices; columns: host memory
  local,           ///< each device with itself
  inbound,         ///< all other devices to each device
  outbound,        ///< each device to all other devices
  nodes,           ///< every node with every other node, all ranks concurrently
};

/// Load during the measurement of a cell.
enum class Load {
  none,      ///< no copies that share a resource with the cell
  others,    ///< all other devices make the same copies
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

/// Returns all test cases, in the order of --list. Test cases of nvbandwidth have their names there. The result is
/// valid until the end of the program.
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

/// Selection by properties. A missing property matches all test cases without load and without a kernel of their own.
struct Axes {
  std::optional<Metric> metric;
  std::optional<Engine> engine;
  std::optional<Direction> direction;
  std::optional<Memory> memory;
  std::optional<bool> peer_access;

  bool any() const { return metric || engine || direction || memory || peer_access; }
  bool match(const TestCase& testcase) const;
};

/// Returns the test cases that match; without --peer-access, those with peer access. Throws BadInput if none matches.
std::vector<TestCase> matching_testcases(const Axes& axes);

/// Returns host if host memory takes part, else device.
Memory memory_of(const TestCase& testcase);

/// Returns whether the test case has a fixed size: latencies, except those of messages.
bool has_own_size(const TestCase& testcase);

/// Returns whether a copy kernel moves the data.
bool copies_by_kernel(const TestCase& testcase);

/// Returns whether --local-copy adds copies of each device to itself.
bool pairs_with_themselves(const TestCase& testcase);

/// Returns whether the limit of a link applies to the test case.
bool has_limit(const TestCase& testcase);

/// Time budget of a run (--budget). A test case starts only if the longest one so far would fit into the rest of the
/// budget; the first always starts. A matrix is therefore complete or absent.
class Budget {
 public:
  /// seconds: the budget; nothing: unlimited.
  explicit Budget(std::optional<double> seconds)
      : seconds_{seconds.value_or(std::numeric_limits<double>::infinity())} {}

  bool has_room(double used) const { return first_ || used + longest_ <= seconds_; }
  void took(double seconds) { first_ = false, longest_ = std::max(seconds, longest_); }

 private:
  double seconds_, longest_ = 0;
  bool first_ = true;
};

/// Seconds after the budget at which the run is ended, without --timeout: the time limit of a round that hangs.
constexpr double time_beyond_budget = 30;

/// Returns the test cases with the most informative first: all links in one direction, paths to and from host memory,
/// bidirectional copies, latencies. The others keep their order.
std::vector<TestCase> most_informative_first(std::vector<TestCase> testcases);

}  // namespace linkmatrix
