#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"

namespace linkmatrix {

/// Which endpoints meet in a matrix.
enum class Pattern {
  pairs,           ///< every device with every other
  host_to_device,  ///< rows host memory, columns devices
  device_to_host,  ///< rows devices, columns host memory
  local,           ///< each device with itself
  inbound,         ///< all other devices to each device: what it takes in
  outbound,        ///< each device to all others: what it gives out
  nodes,           ///< every node with every other, all ranks of both at once
};

/// What else goes on while a cell is measured.
enum class Load {
  none,      ///< nothing that shares a resource with it
  others,    ///< all other devices make the same copies
  everyone,  ///< every device sends and every device receives, each of them one measured copy
};

/// A named row: what is copied, by whom, and what is reported.
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
  std::optional<Kernel> kernel = std::nullopt;  ///< of sm; nothing: --kernel says
  bool one_sided = false;                       ///< of mpi: puts, which the other rank does not receive
};

/// All test cases, in the order of --list; what they refer to stays as long as the program runs. Where nvbandwidth has
/// the same one, it has the same name.
std::span<const TestCase> all_testcases();

/// Their names and descriptions, for --list.
std::string testcase_list();

/// The 35 of nvbandwidth 0.8 for one node.
std::span<const TestCase> nvbandwidth_testcases();

/// Those between ranks, which are among them.
std::span<const TestCase> rank_testcases();

/// The rows of a suite by its name, in the table's order; throws BadInput for an unknown one.
std::vector<TestCase> suite(std::string_view name);

/// "quick, full …" for --help.
std::string suite_names();

/// All test cases as JSON, one per line. checks/testcases.json has this text.
std::string testcases_json();

/// The rows named in "a,b,c"; a number is that of a test case of nvbandwidth, from 0. Throws BadInput for one that
/// comes twice, and for an unknown one, naming the nearest.
std::vector<TestCase> named_testcases(std::string_view names);

/// Axes given instead of a name; an axis left out matches everything, but no load and no kernel of its own.
struct Axes {
  std::optional<Metric> metric;
  std::optional<Engine> engine;
  std::optional<Direction> direction;
  std::optional<Memory> memory;
  std::optional<bool> peer_access;

  bool any() const { return metric || engine || direction || memory || peer_access; }
  bool match(const TestCase& testcase) const;
};

/// The rows that fit the axes; without --peer-access, those with peer access. Throws BadInput where none fits.
std::vector<TestCase> matching_testcases(const Axes& axes);

/// Whether host memory takes part.
Memory memory_of(const TestCase& testcase);

/// Whether its bytes are what it measures, and --size says nothing to it: latencies, but those of messages.
bool has_own_size(const TestCase& testcase);

/// Whether a copy kernel moves its bytes.
bool copies_by_kernel(const TestCase& testcase);

/// Whether --local-copy adds each device's copy inside itself to its pairs.
bool pairs_with_themselves(const TestCase& testcase);

/// Whether what it measures has the limit of a link.
bool has_limit(const TestCase& testcase);

}  // namespace linkmatrix
