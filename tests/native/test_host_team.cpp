#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/memory.hpp"
#include "no_threads.hpp"

namespace linkmatrix {
namespace {

/// The cores of this machine as those of two NUMA nodes, of which only one is there: mocked, because a machine with
/// several cannot be had for a test.
std::vector<NumaNode> two_nodes() {
  std::vector<NumaNode> nodes = numa_nodes();
  nodes.resize(1);
  if (nodes[0].cores.size() == 1) nodes[0].cores.push_back(nodes[0].cores.front());
  nodes.push_back({nodes[0].id + 1, nodes[0].cores});
  return nodes;
}

TEST(Team, MovesEveryByteOfACopyThatSeveralThreadsShare) {
  const auto backend = make_host_backend({}, true, two_nodes());
  EXPECT_EQ(backend->endpoints()[1].name.substr(0, 9), "NUMA node");
  for (const bool peer_access : {true, false}) {
    const std::vector<Copy> copies{
        {.source = 0, .destination = 1, .bytes = 9 * MiB + 5, .peer_access = peer_access, .offset = 3},
        {.source = 1, .destination = 0, .bytes = 9 * MiB + 5, .peer_access = peer_access, .offset = 3}};
    backend->prepare(copies, Deadline::in(60));
    for (const PatternCheck& check : backend->verify(copies, 21, Deadline::in(60))) EXPECT_EQ(check.wrong_bytes, 0u);
    for (const CopyTime& time : backend->run(copies, Deadline::in(60)).copies) {
      EXPECT_GT(time.span.seconds(), 0);
      EXPECT_EQ(time.transfers, 1);
    }
  }
}

TEST(Team, SaysHowManyThreadsCopyAndThatMemoryLiesElsewhere) {
  const auto backend = make_host_backend({}, true, two_nodes());
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 8 * MiB}};
  backend->prepare(copies, Deadline::in(60));
  std::string all;
  for (const std::string& remark : backend->remarks()) all += remark + '\n';
  EXPECT_NE(all.find("copies of 8 MiB between two NUMA nodes use "), std::string::npos) << all;
  // The second node is not there: its buffer lies on the first, if the kernel may be asked.
  const bool told = share_on_node(std::as_bytes(std::span(all)), 0).has_value();
  EXPECT_NE(all.find(told ? "100 % of a buffer of cpu1 is not on NUMA node " : "does not report the NUMA node"),
            std::string::npos)
      << all;
}

TEST(HostBackend, LosesAnEndpointWhoseThreadCannotBeStarted) {
  std::unique_ptr<Backend> backend;
  {
    const NoThreads limit;
    backend = make_host_backend({});
  }
  ASSERT_TRUE(backend->lost(0));
  EXPECT_NE(backend->lost(0)->find("no thread could be started"), std::string::npos);
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB}};
  try {
    backend->prepare(copies, Deadline::in(30));
    FAIL() << "without threads";
  } catch (const CopiesFailed& e) {
    EXPECT_EQ(e.failures().front().status, CellStatus::error);
    EXPECT_TRUE(e.failures().front().endpoint);
  }
}

}  // namespace
}  // namespace linkmatrix
