#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/activity.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {

/// Compares the bytes that the ranks of each node transferred with the counters of the node's adapters.
class NodeTraffic {
 public:
  /// nodes: node name by rank.
  explicit NodeTraffic(std::vector<std::string> nodes = {}) : nodes_{std::move(nodes)} {}

  /// Adds the replies of the ranks, by rank; nothing for a rank that does not answer, whose bytes are then unknown.
  /// Returns whether the adapters have counted all bytes of the ranks. Some adapters count late.
  bool take(std::span<const std::optional<Traffic>> ranks);

  /// Adds the bytes since the first call of take() to a poll, by node. Omits incomplete counts.
  void add(Activity& activity);

 private:
  struct Bytes {
    double counted = 0, own = 0;
    double counted_before = 0, own_before = 0;  ///< values at the previous poll
    bool is_complete() const;
  };
  struct Node {
    std::map<std::string, AdapterTraffic> adapters;  ///< adapters at the last poll
    Bytes out, in;
    std::map<std::string, double> moved;  ///< bytes per adapter since the previous poll
    std::string by;                       ///< names of the adapters that carried data
    double rate = 0;                      ///< rate of all these adapters; 0: unknown
    bool known = true;                    ///< whether the bytes of its ranks since the previous poll are known
  };
  void count(Node& node, std::span<const Traffic> ranks);
  static void set_carriers(Node& node);

  std::vector<std::string> nodes_;
  std::map<std::string, Node> found_;
};

}  // namespace linkmatrix::ranks
