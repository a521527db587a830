#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "device/host/own_threads.hpp"
#include "device/host/proc_tasks.hpp"

namespace linkmatrix {

/// What the processors of this node do, and for whom, as the kernel counts it below `root`/proc.
class ProcessorLook {
 public:
  /// Of this run are this process, those of `ranks` that have its name, and what started them.
  explicit ProcessorLook(const std::filesystem::path& root = "/", std::vector<unsigned> ranks = {});

  /// Adds to a look what is known of the node, and the processes of others that ran on its processors.
  void add_node(Activity& activity, const std::string& node);

  /// Adds how much of the time that the run's threads wanted an endpoint's cores they had them: `counted` is what they
  /// wanted, `own` what they had. Others had the rest, or the host of a virtual machine. Cores on which several
  /// threads of the run are bound are left out, for those wait for each other.
  void add_cores(Activity& activity, const std::string& label, std::span<const int> cores);

  /// Likewise of the processors that this process has, whichever they are: of each of its threads, whose waiting for
  /// the others of them is nobody else's doing, those that have ended too.
  void add_self(Activity& activity, const std::string& label);

  /// Whose a process is, by name where this node knows it by itself, else "uid 5012"; empty where it cannot be seen.
  std::string user_of(unsigned pid) const;

  /// The cores that the threads of a process may use, "0-3,8"; empty where it cannot be seen.
  std::string cores_of(unsigned pid) const;

 private:
  /// Seconds of cores, and of the run's threads on them, since the look before.
  struct Taken {
    double ran = 0, busy = 0, stolen = 0;
    double of_run = 0;  ///< that the host took from the run, since the first look
  };
  /// Of the run's own threads.
  struct OwnTime {
    OwnThreads threads;
    double waited = 0;  ///< seconds for others, as far as they did not wait for each other
  };
  std::set<unsigned> processes_of_run(const std::map<unsigned, Task>& tasks) const;
  double kernel_seconds(std::map<unsigned, double> threads);
  double taken_of_run(const std::string& which, double ran, double busy, double stolen);

  std::filesystem::path proc_;
  std::string self_;  ///< name of this process's folder below /proc
  std::set<unsigned> ranks_;
  std::map<unsigned, std::string> users_;
  std::map<std::string, Taken> taken_;
  std::map<std::string, OwnTime> own_;        ///< by the label that it was asked for
  std::map<unsigned, double> kernel_before_;  ///< seconds of each thread of the kernel
  double kernel_ = 0;                         ///< of all of them, since the first poll
  bool is_first_ = true;
};

}  // namespace linkmatrix
