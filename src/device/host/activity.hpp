#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/activity.hpp"

namespace linkmatrix {

/// What the processors of this node do, and for whom, as the kernel counts it below `root`/proc.
class ProcessorLook {
 public:
  /// Of this run are this process and its parent; where it is one of several ranks, also those of its name and user.
  explicit ProcessorLook(const std::filesystem::path& root = "/", bool ranks = false);

  /// Adds to a look what is known of the node, and the processes of others that ran on its processors.
  void add_node(Activity& activity, const std::string& node) const;

  /// Adds how much of the time that the run's threads wanted an endpoint's cores they had them: `counted` is what they
  /// wanted, `own` what they had. Others had the rest, or the host of a virtual machine. Cores on which several
  /// threads of the run are bound are left out, for those wait for each other.
  void add_cores(Activity& activity, const std::string& label, std::span<const int> cores) const;

  /// Likewise of the processors that this process has, whichever they are: of each of its threads, whose waiting for
  /// the others of them is nobody else's doing.
  void add_self(Activity& activity, const std::string& label) const;

  /// Whose a process is, by name where this node knows it by itself, else "uid 5012"; empty where it cannot be seen.
  std::string user_of(unsigned pid) const;

 private:
  std::filesystem::path proc_;
  std::string self_;  ///< name of this process's folder below /proc
  bool ranks_;
  std::map<unsigned, std::string> users_;
};

}  // namespace linkmatrix
