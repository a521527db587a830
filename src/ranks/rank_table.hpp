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

/// Who takes part: what the ranks said of themselves, and what follows for each pair of them, or of their nodes. Nodes
/// are numbered as their first ranks are.
class RankTable {
 public:
  /// facts: of all ranks, by number.
  RankTable(std::span<const RankFacts> facts, const NetworkOptions& options);

  /// Why the ranks do not fit together, or cannot do what is asked for; empty: they do.
  const std::string& refusal() const { return refusal_; }

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  /// Of every rank the name of its node.
  std::vector<std::string> nodes_of_ranks() const;
  bool same_node(std::size_t a, std::size_t b) const { return endpoints_[a].node == endpoints_[b].node; }
  bool cuda_aware() const { return cuda_aware_; }

  /// Labels of rows and columns: the ranks', or the nodes'.
  std::vector<std::string> labels(bool by_node) const;
  std::string link_class(bool by_node, std::size_t row, std::size_t column) const;
  /// Between two ranks, or all ranks of one node or of different ones: what was asked for, else what is there.
  Transport route(std::size_t from, std::size_t to) const { return route(same_node(from, to)); }
  Transport route(bool same_node) const;
  /// By what handles ranks get at the memory of each other's devices, for messages, and for copies.
  Transport sharing() const;
  Transport copies_sharing() const;
  /// Why a rank's device does not work, by rank; empty text: it does.
  const std::vector<NoDevice>& no_device() const { return no_device_; }
  /// Takes the links between devices of one node in place of what is known without them.
  void set_links(std::vector<Endpoint> endpoints, Topology links);
  bool is_one_node() const { return nodes_.size() == 1; }
  /// The same of a cell.
  std::string transport(bool by_node, std::size_t row, std::size_t column) const;
  /// Of the ranks; empty where they are more than `most`.
  Topology topology(std::size_t most) const;

  /// The rounds of a matrix. Throws BadInput where these ranks have none.
  RankRounds rounds(bool by_node, bool bidirectional, bool bisection) const;

  /// Throws BadInput where the ranks of a node have no room for buffers of so many bytes: each alone would find it,
  /// and all together would end in the kernel's hunt for memory.
  void check_memory(std::uint64_t bytes) const;

 private:
  void add(const RankFacts& facts);
  std::string check(std::span<const RankFacts> facts) const;
  std::string difference(std::span<const RankFacts> facts) const;
  std::string transport_refusal() const;
  std::size_t widest_node() const;

  NetworkOptions options_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::string> nodes_;
  std::map<std::string, std::size_t> node_numbers_;
  std::vector<std::vector<int>> ranks_of_;  ///< of each node
  std::vector<std::uint64_t> available_;    ///< bytes of host memory, of each node
  int adapters_ = 0;                        ///< of the node that has the fewest
  bool cuda_aware_ = false, have_descriptors_ = true;
  std::vector<NoDevice> no_device_;
  std::string no_fabric_;  ///< why not all devices have fabric handles
  std::optional<Topology> links_;
  std::string refusal_;
};

}  // namespace linkmatrix::ranks
