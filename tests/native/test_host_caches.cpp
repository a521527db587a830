#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/units.hpp"
#include "device/host/caches.hpp"
#include "own_folder.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

class Caches : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void cache(int core, int index, const char* level, const char* type, const char* size, const char* shared) const {
    const fs::path at =
        root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(core)) / "cache" / ("index" + std::to_string(index));
    fs::create_directories(at);
    for (const auto& [file, text] :
         {std::pair{"level", level}, {"type", type}, {"size", size}, {"shared_cpu_list", shared}})
      std::ofstream(at / file) << text << '\n';
  }
  const fs::path root_ = own_folder("caches");
};

TEST_F(Caches, AreNoneWhereTheKernelDoesNotSay) {
  EXPECT_EQ(last_level_caches(root_).all, 0u);
  fs::create_directories(root_ / "sys/devices/system/cpu/cpu0");
  fs::create_directories(root_ / "sys/devices/system/cpu/cpufreq");
  EXPECT_EQ(last_level_caches(root_).all, 0u);
}

TEST_F(Caches, CountEachInstanceOfTheLastLevelOnce) {
  for (int core = 0; core < 4; ++core) {
    cache(core, 0, "1", "Data", "32K", "own");
    cache(core, 1, "1", "Instruction", "32K", "own");
    cache(core, 2, "2", "Unified", "1024K", "own");
    cache(core, 3, "3", "Unified", core < 2 ? "98304K" : "32768K", core < 2 ? "0-1" : "2-3");
  }
  const LastLevelCaches caches = last_level_caches(root_);
  EXPECT_EQ(caches.largest, 96 * MiB);
  EXPECT_EQ(caches.all, 128 * MiB);
}

TEST(WorkingSet, IsLargerThanAnyCacheThatCouldAnswer) {
  constexpr std::uint64_t much = 1024 * GiB;
  const WorkingSet small = working_set({32 * MiB, 32 * MiB}, much);
  EXPECT_EQ(small.copy, 128 * MiB);
  EXPECT_EQ(small.chase, 256 * MiB);
  EXPECT_EQ(working_set({}, much).copy, 128 * MiB) << "the kernel does not say";
  const WorkingSet large = working_set({96 * MiB, 1536 * MiB}, much);  // two sockets of eight with stacked caches
  EXPECT_EQ(2 * large.copy, 4 * 1536 * MiB);
  EXPECT_EQ(large.chase, 1 * GiB);
  EXPECT_FALSE(large.is_memory_short);
}

TEST(WorkingSet, IsNoMoreThanTheMemoryAllowsAndSaysSo) {
  const WorkingSet set = working_set({96 * MiB, 1536 * MiB}, 32 * GiB);
  EXPECT_EQ(set.copy, 512 * MiB);
  EXPECT_EQ(set.chase, 512 * MiB);
  EXPECT_TRUE(set.is_memory_short);
  EXPECT_EQ(working_set({96 * MiB, 1536 * MiB}, 1 * GiB).copy, 128 * MiB) << "a smaller one says nothing of memory";
}

}  // namespace
}  // namespace linkmatrix
