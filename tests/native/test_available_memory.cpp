#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "core/units.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// Files of /proc and /sys from real machines, in a folder of the test.
class AvailableMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "linkmatrix_memory_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::uint64_t of(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) {
      fs::create_directories((root_ / name).parent_path());
      std::ofstream(root_ / name) << text;
    }
    return available_memory(root_);
  }

  fs::path root_;
};

constexpr auto meminfo = "MemTotal:       24682416 kB\nMemFree:        22076176 kB\nMemAvailable:   23214824 kB\n";
constexpr std::uint64_t of_machine = 23214824 * KiB;

TEST_F(AvailableMemory, IsTheMachinesWhereNoGroupLimitsIt) {
  EXPECT_EQ(of({{"proc/meminfo", meminfo}}), of_machine);
  EXPECT_EQ(of({{"proc/self/cgroup", "0::/user.slice\n"}, {"sys/fs/cgroup/user.slice/memory.max", "max\n"}}),
            of_machine);
}

TEST_F(AvailableMemory, IsWithoutLimitWhereTheKernelSaysNothing) {
  EXPECT_EQ(of({}), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(AvailableMemory, IsLessInAGroupOfVersion2) {
  EXPECT_EQ(of({{"proc/meminfo", meminfo},
                {"proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_42/step_0\n"},
                {"sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/memory.max", "4294967296\n"},
                {"sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/memory.current", "1073741824\n"},
                {"sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/memory.stat",
                 "anon 536870912\nfile 536870912\nactive_file 268435456\ninactive_file 268435456\n"},
                {"sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/step_0/memory.max", "max\n"},
                {"sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/step_0/memory.current", "1073741824\n"}}),
            4 * GiB - (1 * GiB - 256 * MiB));
}

TEST_F(AvailableMemory, EndsWhereTheKernelBeginsToSlowDown) {
  EXPECT_EQ(of({{"proc/self/cgroup", "0::/job\n"},
                {"sys/fs/cgroup/job/memory.max", "4294967296\n"},
                {"sys/fs/cgroup/job/memory.high", "3221225472\n"},
                {"sys/fs/cgroup/job/memory.current", "1073741824\n"}}),
            2 * GiB);
}

TEST_F(AvailableMemory, IsThatOfTheContainersOwnGroupWhereThePathIsTheHosts) {
  EXPECT_EQ(of({{"proc/meminfo", meminfo},
                {"proc/self/cgroup", "0::/system.slice/docker-0123.scope\n"},
                {"sys/fs/cgroup/memory.max", "2147483648\n"},
                {"sys/fs/cgroup/memory.current", "1048576\n"}}),
            2 * GiB - MiB);
}

TEST_F(AvailableMemory, IsLessInAGroupOfVersion1) {
  EXPECT_EQ(
      of({{"proc/meminfo", meminfo},
          {"proc/self/cgroup", "9:name=systemd:/\n5:cpu,cpuacct:/\n4:memory:/slurm/uid_0/job_42\n0::/\n"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
          {"sys/fs/cgroup/memory/memory.usage_in_bytes", "123456\n"},
          {"sys/fs/cgroup/memory/slurm/uid_0/job_42/memory.limit_in_bytes", "1073741824\n"},
          {"sys/fs/cgroup/memory/slurm/uid_0/job_42/memory.usage_in_bytes", "805306368\n"},
          {"sys/fs/cgroup/memory/slurm/uid_0/job_42/memory.stat", "inactive_file 1\ntotal_inactive_file 268435456\n"}}),
      512 * MiB);
}

TEST_F(AvailableMemory, IsNoneInAGroupThatIsFull) {
  EXPECT_EQ(of({{"proc/self/cgroup", "0::/full\n"},
                {"sys/fs/cgroup/full/memory.max", "1048576\n"},
                {"sys/fs/cgroup/full/memory.current", "2097152\n"}}),
            0u);
}

}  // namespace
}  // namespace linkmatrix
