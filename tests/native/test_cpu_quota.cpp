#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "device/host/activity.hpp"
#include "device/host/cpu_quota.hpp"
#include "proc_tree.hpp"

namespace linkmatrix {
namespace {

/// The kernel's files of control groups, below a folder of their own.
class CpuQuotaTest : public testing::Test {
 protected:
  std::optional<CpuQuota> of(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((root_ / name).parent_path());
      std::ofstream(root_ / name) << text << '\n';
    }
    return cpu_quota(root_);
  }

  const ProcTree tree_{"cpu_quota"};
  const std::filesystem::path& root_ = tree_.root;
};

constexpr auto stat_2 = "usage_usec 9\nnr_periods 80\nnr_throttled 42\nthrottled_usec 4200000\nnr_bursts 0";

TEST_F(CpuQuotaTest, IsThatOfTheNearestGroupThatHasOne) {
  EXPECT_FALSE(of({}));
  EXPECT_FALSE(of({{"proc/100/cgroup", "0::/pod/container/step"}, {"sys/fs/cgroup/pod/cpu.max", "max 100000"}}));
  const auto found = of({{"sys/fs/cgroup/pod/cpu.max", "800000 100000"},
                         {"sys/fs/cgroup/pod/cpu.stat", "throttled_usec 7"},
                         {"sys/fs/cgroup/pod/container/cpu.max", "50000 100000"},
                         {"sys/fs/cgroup/pod/container/cpu.stat", stat_2},
                         {"sys/fs/cgroup/pod/container/step/cpu.max", "max 100000"},
                         {"sys/fs/cgroup/pod/container/step/cpu.stat", "throttled_usec 0"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "cpu.max 50000 100000");
  EXPECT_DOUBLE_EQ(found->throttled, 4.2);
}

TEST_F(CpuQuotaTest, IsReadOfTheFirstVersionToo) {
  const std::string group = "sys/fs/cgroup/cpu/job7/";
  EXPECT_FALSE(of({{"proc/100/cgroup", "4:memory:/\n2:cpu,cpuacct:/job7"},
                   {group + "cpu.cfs_quota_us", "-1"},
                   {group + "cpu.cfs_period_us", "100000"},
                   {group + "cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000"}}));
  const auto found = of({{group + "cpu.cfs_quota_us", "150000"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "cpu.cfs_quota_us 150000 100000");
  EXPECT_DOUBLE_EQ(found->throttled, 1.5);
}

TEST_F(CpuQuotaTest, OfAContainerWhosePathIsTheHostsIsThatOfWhatIsMounted) {
  const auto found = of({{"proc/100/cgroup", "0::/kubepods/pod5"},
                         {"sys/fs/cgroup/cpu.max", "50000 100000"},
                         {"sys/fs/cgroup/cpu.stat", stat_2}});
  EXPECT_TRUE(found && found->throttled == 4.2);
}

TEST_F(CpuQuotaTest, IsPartOfALook) {
  of({{"proc/100/cgroup", "0::/"}, {"sys/fs/cgroup/cpu.max", "50000 100000"}, {"sys/fs/cgroup/cpu.stat", stat_2}});
  Activity now;
  ProcessorLook(root_).add_node(now, "n1");
  EXPECT_EQ(now.nodes.at(0).throttled, 4.2);
  EXPECT_EQ(now.nodes.at(0).quota, "cpu.max 50000 100000");
}

}  // namespace
}  // namespace linkmatrix
