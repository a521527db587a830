#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "own_folder.hpp"

namespace linkmatrix {

/// The kernel's files of processes below a folder of a test's own, which goes with it; this process is number 100.
class ProcTree {
 public:
  explicit ProcTree(const std::string& name) : root{own_folder(name)} {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root / "proc");
    std::filesystem::create_symlink("100", root / "proc/self");
  }
  ~ProcTree() { std::filesystem::remove_all(root); }
  ProcTree(const ProcTree&) = delete;
  ProcTree& operator=(const ProcTree&) = delete;

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / "proc" / file).parent_path());
    std::ofstream(root / "proc" / file) << text << '\n';
  }

  /// A process that has had a processor for so many ticks.
  void task(int pid, const std::string& name, int parent, int ticks) const {
    const std::string number = std::to_string(pid);
    write(number + "/stat", number + " (" + name + ") R " + std::to_string(parent) + " 1 1 0 -1 4194304 0 0 0 0 " +
                                std::to_string(ticks) + " 0 0 0 20 0 1 0 5");
  }

  const std::filesystem::path root;
};

}  // namespace linkmatrix
