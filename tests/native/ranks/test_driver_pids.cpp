#include <gtest/gtest.h>

#include "core/activity.hpp"
#include "ranks/driver_pids.hpp"

namespace linkmatrix::ranks {
namespace {

RankFacts rank(const std::string& node, const std::string& boot, const std::string& device, unsigned pid) {
  RankFacts facts;
  put(facts.node, node), put(facts.boot, boot), put(facts.device, device);
  facts.driver_pid = pid;
  return facts;
}

std::vector<unsigned> others(const DriverPids& pids, std::vector<OtherProcess> processes) {
  Activity poll;
  poll.processes = std::move(processes);
  pids.remove_ranks(poll);
  std::vector<unsigned> left;
  for (const OtherProcess& process : poll.processes) left.push_back(process.pid);
  return left;
}

OtherProcess on(const std::string& device, unsigned pid) {
  return {.where = device, .pid = pid, .name = "p2p_matrix", .user = "", .bytes = {}, .seconds = {}, .on_device = true};
}

TEST(DriverPids, OfRanksOfOneNodeNoneIsAnotherProcess) {
  const DriverPids pids(
      std::vector{rank("n1", "a", "gpu0", 10), rank("n1", "a", "gpu1", 11), rank("n2", "b", "gpu0", 12)});
  EXPECT_EQ(others(pids, {on("n1:gpu0", 11), on("n1:gpu0", 12), on("n2:gpu0", 10), on("n2:gpu0", 12)}),
            (std::vector<unsigned>{12, 10}))
      << "a number of another node is another process";
  EXPECT_EQ(others(pids, {{"n1", 10, "hog", "", {}, 1.0}}), std::vector<unsigned>{10})
      << "processes of the node are numbered by its kernel";
}

TEST(DriverPids, OfNodesOfOneSystemAreTheSameProcesses) {
  const DriverPids pids(std::vector{rank("n1", "a", "gpu0", 10), rank("n2", "a", "gpu1", 11)});
  EXPECT_TRUE(others(pids, {on("n1:gpu0", 11), on("n2:gpu1", 10)}).empty());
}

TEST(DriverPids, OfARankThatDoesNotKnowItselfRemoveNothing) {
  const DriverPids pids(std::vector{rank("n1", "a", "gpu0", 0)});
  EXPECT_EQ(others(pids, {on("n1:gpu0", 0), on("n1:gpu0", 5)}).size(), 2u);
}

}  // namespace
}  // namespace linkmatrix::ranks
