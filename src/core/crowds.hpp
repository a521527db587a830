#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace linkmatrix {

constexpr double least_share = 0.2;  // of a processor, from which on a process is none that only watches

/// The nodes of ranks whose processors others used between two looks so much that ranks will wait for them, or that
/// somebody else computes there: whoever keeps a processor busy is no daemon.
class Crowds {
 public:
  explicit Crowds(const Activity& difference);

  /// Whether ranks on a node say which of its processors they may use.
  bool knows(const std::string& node) const { return nodes_.contains(node); }

  /// Whether a process on a node that is known is one of those that ranks will wait for, or of those that compute.
  bool has(const OtherProcess& process) const;

  /// Of whom none is listed: "others had 0.9 processors of n1:rank0". Of a node on which no rank says which processors
  /// it may use, but where processors copy, whoever had one and more of all together.
  std::vector<std::string> unlisted() const;

 private:
  struct Group {  ///< of ranks that may use the same cores
    std::vector<int> cores;
    std::string first;            ///< label of one
    double alike = 0, ranks = 0;  ///< those, and all that may use some of these cores
    double listed = 0;            ///< processors that those had who are listed and may run there
    std::optional<double> used;   ///< that others had; of those who are listed where nobody knows
    bool is_crowded() const;
  };
  struct Node {
    std::map<std::string, Group> groups;
    double used = 0;  ///< processors that others had on the node
  };
  void look_for_hidden(const NodeLoad& node, double seconds);

  std::map<std::string, Node> nodes_;
  std::map<std::string, double> hidden_;  ///< processors of other nodes that nobody had who is known
};

}  // namespace linkmatrix
