#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace linkmatrix {

/// Polls how busy the cores of this node are, and which other processes use them, from the kernel's files in
/// `root`/proc.
class ProcessorPoll {
 public:
  /// ranks: pids of the run's ranks. The run consists of this process, of the ranks that have its name, and of the
  /// launchers of both.
  explicit ProcessorPoll(const std::filesystem::path& root = "/", std::vector<unsigned> ranks = {});

  /// Adds the node and the other processes to a poll.
  void add_node(Activity& activity, const std::string& node);

  /// The user of a process: a name from /etc/passwd, else "uid 5012"; empty if the process is not visible.
  std::string user_of(unsigned pid) const;

 private:
  struct Process {
    std::string name;
    unsigned parent = 0, session = 0;
    double seconds = 0;  ///< of cores, including threads that have ended
    bool is_kernel = false;
  };
  using Processes = std::map<unsigned, Process>;

  Processes processes() const;
  std::set<unsigned> processes_of_run(const Processes& all) const;
  double kernel_seconds(std::map<unsigned, double> threads);

  std::filesystem::path proc_;
  std::string self_;  ///< name of this process's folder in /proc
  std::set<unsigned> ranks_;
  std::map<unsigned, std::string> users_;
  std::map<unsigned, double> kernel_before_;  ///< seconds of each kernel thread
  double kernel_ = 0;                         ///< seconds of all of them, since the first poll
  bool is_first_ = true;
};

}  // namespace linkmatrix
