#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/cuda/discovery.hpp"
#include "own_folder.hpp"

namespace linkmatrix::cuda {
namespace {

namespace fs = std::filesystem;

/// A root folder with the files of a driver.
class Listing : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "dev");
  }
  void TearDown() override { fs::remove_all(root_); }
  void touch(const std::string& name) { std::ofstream(root_ / name); }

  const fs::path root_ = own_folder("listing");
};

TEST_F(Listing, CountsNoGpuWhereThereIsNoDriver) {
  EXPECT_EQ(listed_gpus(root_), 0);
  EXPECT_EQ(listed_gpus("/nonexistent"), 0);
}

TEST_F(Listing, CountsDeviceFilesOfGpusOnly) {
  for (const char* file : {"nvidia0", "nvidia1", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia", "nvme0"})
    touch(std::string("dev/") + file);
  EXPECT_EQ(listed_gpus(root_), 3);
}

TEST_F(Listing, CountsWhatTheDriverListsWhereTheFilesAreHidden) {
  for (const char* gpu : {"0000:1b:00.0", "0000:43:00.0"})
    fs::create_directories(root_ / "proc/driver/nvidia/gpus" / gpu);
  EXPECT_EQ(listed_gpus(root_), 2);
  touch("dev/nvidia0");
  EXPECT_EQ(listed_gpus(root_), 2);
}

TEST(LaunchBlocking, IsTakenBackBeforeTheDriverReadsIt) {
  // Otherwise each launch behind a closed gate would wait for the time limit of the gate: 5 s per stream.
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  std::string reason;
  visible_devices(reason);
  EXPECT_EQ(std::getenv("CUDA_LAUNCH_BLOCKING"), nullptr);
}

TEST(HiddenGpus, AreNamedWithTheVariableThatHidesThem) {
  EXPECT_EQ(hidden_text(4, "9", "no NVIDIA GPU is visible"),
            "CUDA_VISIBLE_DEVICES='9' hides this host's 4 NVIDIA GPUs: unset CUDA_VISIBLE_DEVICES, or measure host "
            "memory with "
            "--backend host");
  EXPECT_TRUE(hidden_text(1, "", "").starts_with("CUDA_VISIBLE_DEVICES='' hides this host's 1 NVIDIA GPU:"));
  EXPECT_EQ(hidden_text(8, {}, "no NVIDIA driver"),
            "this host has 8 NVIDIA GPUs, but no NVIDIA driver: request GPUs for the job, or measure host "
            "memory with --backend host");
}

}  // namespace
}  // namespace linkmatrix::cuda
