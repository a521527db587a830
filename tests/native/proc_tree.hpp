#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "own_folder.hpp"

namespace linkmatrix {

/// Files of processes as in /proc, in a folder for the lifetime of the object. This process is number 100.
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

  /// Adds a process. ticks: processor time in clock ticks. core: the last core.
  void task(int pid, const std::string& name, int parent, int ticks, int core = 0) const {
    write_task(pid, name, parent, ticks, core, "4194304");
  }

  /// Adds a thread of the kernel.
  void kernel_thread(int pid, const std::string& name, int ticks, int core = 0) const {
    write_task(pid, name, 2, ticks, core, "69238880");
  }

  /// Returns the content of the file `stat` of a process.
  static std::string stat(int pid, const std::string& name, int parent, int ticks, int core = 0, int session = 1,
                          const std::string& flags = "4194304") {
    return std::to_string(pid) + " (" + name + ") R " + std::to_string(parent) + " 1 " + std::to_string(session) +
           " 0 -1 " + flags + " 0 0 0 0 " + std::to_string(ticks) + " 0 0 0 20 0 1 0 5" + zeros(16) + " " +
           std::to_string(core);
  }

  const std::filesystem::path root;

 private:
  void write_task(int pid, const std::string& name, int parent, int ticks, int core, const std::string& flags) const {
    write(std::to_string(pid) + "/stat", stat(pid, name, parent, ticks, core, 1, flags));
  }

  static std::string zeros(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += " 0";
    return text;
  }
};

}  // namespace linkmatrix
