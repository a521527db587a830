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

/// What the ranks of each node have moved over the network, beside what the adapters that they use have counted.
class NodeTraffic {
 public:
  /// nodes: of every rank, by number.
  explicit NodeTraffic(std::vector<std::string> nodes = {}) : nodes_{std::move(nodes)} {}

  /// Takes what the ranks say, by number; nothing of one that does not answer, whose bytes are unknown from then on.
  /// Returns whether all adapters have counted what the ranks of their node have moved: some count late.
  bool take(std::span<const std::optional<Traffic>> ranks);

  /// Adds what was taken to a look: bytes since the first take, by node. What has not been counted yet is no answer.
  void add(Activity& activity);

 private:
  struct Way {
    double counted = 0, own = 0;
    double counted_before = 0, own_before = 0;  ///< at the look before
    bool is_whole() const;
  };
  struct Node {
    std::map<std::string, AdapterTraffic> adapters;  ///< as they were last
    Way out, in;
    std::map<std::string, double> moved;  ///< bytes by each adapter since the look before
    std::string by;                       ///< adapters that were used last, and carried something
    double rate = 0;                      ///< of all of them; 0: of one it is not known
    bool known = true;                    ///< what its ranks moved since the look before
  };
  void count(Node& node, std::span<const Traffic> ranks);
  static void tell_who_carried(Node& node);

  std::vector<std::string> nodes_;
  std::map<std::string, Node> found_;
};

}  // namespace linkmatrix::ranks
