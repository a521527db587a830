#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../own_folder.hpp"

namespace linkmatrix::cuda {

const std::string pci = "0000:1b:00.0";

/// Tests with the fake NVML, whose answers are in a file.
class NvmlAnswers : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    ::unsetenv("LINKMATRIX_REPLAYED_NVML");
  }
  void replay(const std::string& lines) const {
    std::ofstream(folder_ / "answers") << lines;
    ::setenv("LINKMATRIX_REPLAYED_NVML", (folder_ / "answers").c_str(), 1);
  }
  static void replay_file(const std::string& name) {
    const auto file = std::filesystem::path(LINKMATRIX_NATIVE_TESTS).parent_path() / "data/nvml" / name;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    ::setenv("LINKMATRIX_REPLAYED_NVML", file.c_str(), 1);
  }
  std::filesystem::path folder_ = own_folder("nvml_answers");
};

}  // namespace linkmatrix::cuda
