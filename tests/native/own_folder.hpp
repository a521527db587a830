#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace linkmatrix {

/// Returns a folder of this process, because ctest runs several tests concurrently, each in its own process.
inline std::filesystem::path own_folder(const std::string& name) {
  return std::filesystem::weakly_canonical(testing::TempDir()) /
         ("linkmatrix_" + name + "." + std::to_string(::getpid()));
}

}  // namespace linkmatrix
