#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/topology.hpp"
#include "ranks/messages.hpp"
#include "ranks/options.hpp"
#include "ranks/rank_rounds.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// The link classes of ranks.
constexpr std::string_view inside_node = "NODE", between_nodes = "NET";

/// Facts of all ranks, and properties of pairs of ranks or nodes. Nodes are numbered in the order of their first ranks.
/// by_node: whether rows and columns are nodes.
class RankTable {
 public:
  /// facts: by rank.
  RankTable(std::span<const RankFacts> facts, const NetworkOptions& options);

  /// Returns why the ranks cannot run with these options; "" if they can.
  const std::string& refusal() const { return refusal_; }

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  /// Returns the node name by rank.
  std::vector<std::string> nodes_of_ranks() const;
  bool same_node(std::size_t a, std::size_t b) const { return endpoints_[a].node == endpoints_[b].node; }
  bool cuda_aware() const { return cuda_aware_; }

  /// Returns the labels of rows and columns: ranks or nodes.
  std::vector<std::string> labels(bool by_node) const;
  std::string link_class(bool by_node, std::size_t row, std::size_t column) const;
  /// Returns the transport between two ranks, which depends on whether they are on one node: --transport, else the best
  /// available.
  Transport route(std::size_t from, std::size_t to) const { return route(same_node(from, to)); }
  Transport route(bool same_node) const;
  /// Returns the type of handles by which ranks share device memory: for messages (sharing), for copies
  /// (copies_sharing).
  Transport sharing() const;
  Transport copies_sharing() const;
  /// Returns why each rank's device does not work, by rank.
  const std::vector<NoDevice>& no_device() const { return no_device_; }
  /// Sets endpoints and links of the devices, if all ranks are on one node.
  void set_links(std::vector<Endpoint> endpoints, Topology links);
  bool is_one_node() const { return nodes_.size() == 1; }
  /// Returns the transport of a cell.
  std::string transport(bool by_node, std::size_t row, std::size_t column) const;
  /// Returns the topology of the ranks; empty for more than `most` ranks.
  Topology topology(std::size_t most) const;

  /// Returns the rounds of a matrix. Throws BadInput if the ranks have none.
  RankRounds rounds(bool by_node, bool bidirectional, bool bisection) const;

  /// Throws BadInput if the buffers of all ranks of a node do not fit into its memory; otherwise the kernel would kill
  /// processes. bytes: size of one buffer.
  void check_memory(std::uint64_t bytes) const;

 private:
  void add(const RankFacts& facts);
  std::string check(std::span<const RankFacts> facts) const;
  std::string difference(std::span<const RankFacts> facts) const;
  std::string transport_refusal() const;
  std::string domain_refusal() const;
  /// Returns whether copies between two ranks use NVLink of a multi-node domain.
  bool over_nvlink(std::size_t a, std::size_t b) const;
  int nvlinks_between(std::size_t a, std::size_t b) const;
  std::size_t widest_node() const;

  NetworkOptions options_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::string> nodes_;
  std::map<std::string, std::size_t> node_numbers_;
  std::vector<std::vector<int>> ranks_of_;  ///< ranks of each node
  std::vector<std::uint64_t> available_;    ///< available host memory of each node in bytes
  int adapters_ = 0;                        ///< adapters of the node with the fewest
  bool cuda_aware_ = false, have_descriptors_ = true;
  std::vector<NoDevice> no_device_;
  std::string no_fabric_;  ///< why not all devices have fabric handles
  /// NVLinks of each rank's device, their net rate in GB/s, and NVML's state of its fabric registration.
  struct Nvlinks {
    int active;
    double limit;
    std::string fabric;
  };
  std::vector<Nvlinks> nvlinks_;
  std::optional<Topology> links_;
  std::string refusal_;
};

}  // namespace linkmatrix::ranks
