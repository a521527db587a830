#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace linkmatrix {

/// Polls the load of this node's cores and the other processes, from `root`/proc.
class ProcessorPoll {
 public:
  /// ranks: process numbers of the run's ranks on this node. The run consists of this process, the ranks with the same
  /// executable name, and their launchers.
  explicit ProcessorPoll(const std::filesystem::path& root = "/", std::vector<unsigned> ranks = {});

  /// Adds the node's load (NodeLoad) and the other processes to a poll. node: name of this node in the record.
  void add_node(Activity& activity, const std::string& node);

  /// Returns the user of a process: a name from /etc/passwd, else "uid 5012"; "" if the process is not visible.
  std::string user_of(unsigned pid) const;

 private:
  struct Process {
    std::string name;
    unsigned parent = 0, session = 0;
    double seconds = 0;  ///< processor time in seconds, including ended threads
    bool is_kernel = false;
  };
  using Processes = std::map<unsigned, Process>;

  Processes processes() const;
  std::set<unsigned> processes_of_run(const Processes& all) const;
  double kernel_seconds(std::map<unsigned, double> threads);

  std::filesystem::path proc_;
  std::string self_;  ///< number of this process in /proc
  std::set<unsigned> ranks_;
  std::map<unsigned, std::string> users_;     ///< user names by number
  std::map<unsigned, double> kernel_before_;  ///< processor time of each kernel thread
  double kernel_ = 0;                         ///< processor time of all kernel threads since the first poll
  bool is_first_ = true;
};

}  // namespace linkmatrix
