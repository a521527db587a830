#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace linkmatrix {

/// A folder of this process: ctest runs several tests at once, each in a process of its own.
inline std::filesystem::path own_folder(const std::string& name) {
  return std::filesystem::weakly_canonical(testing::TempDir()) /
         ("linkmatrix_" + name + "." + std::to_string(::getpid()));
}

}  // namespace linkmatrix
