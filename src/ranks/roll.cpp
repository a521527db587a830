#include "ranks/roll.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/mpi/communicator.hpp"
#include "ranks/cards.hpp"

namespace linkmatrix::ranks {

bool is_meant(const SimulatedFault& fault, const std::string& label) {
  return fault.endpoint == label || label.ends_with(":" + fault.endpoint);
}

Roll::Roll(std::span<const Card> cards, const NetworkOptions& options) : options_{options} {
  for (const Card& card : cards) add(card);
  if (!cards.empty()) refusal_ = check(cards);
}

void Roll::add(const Card& card) {
  const std::size_t rank = endpoints_.size();
  Endpoint endpoint;
  endpoint.index = static_cast<int>(rank);
  endpoint.node = text_of(card.node);
  endpoint.label = label_of(card);
  endpoint.name = text_of(card.model);
  endpoint.uuid = text_of(card.uuid);
  endpoint.pci = text_of(card.pci);
  endpoint.numa = card.numa;
  if (const std::string nics = text_of(card.nics); !nics.empty()) endpoint.nics = split(nics, ',');
  const auto [at, is_new] = node_numbers_.try_emplace(endpoint.node, nodes_.size());
  const std::size_t node = at->second;
  if (is_new) {
    nodes_.push_back(endpoint.node);
    ranks_of_.emplace_back();
    available_.push_back(card.available);
  }
  ranks_of_[node].push_back(static_cast<int>(rank));
  cuda_aware_ = (rank == 0 || cuda_aware_) && card.cuda_aware;
  adapters_ = rank == 0 ? card.adapters : std::min(adapters_, card.adapters);
  endpoints_.push_back(std::move(endpoint));
}

std::string Roll::check(std::span<const Card> cards) const {
  if (const std::string text = difference(cards); !text.empty()) return text;
  if (const std::string text = transport_refusal(); !text.empty()) return text;
  if (cards.size() < 2) return "there is one rank: start two or more with mpirun -n, or measure without --backend mpi";
  if (options_.fault && std::none_of(endpoints_.begin(), endpoints_.end(), [this](const Endpoint& endpoint) {
        return is_meant(*options_.fault, endpoint.label);
      }))
    return "--simulate-fault: there is no endpoint '" + options_.fault->endpoint + "', the first one is '" +
           endpoints_.front().label + "'";
  return "";
}

/// Which rank is not as the first one, or cannot take part.
std::string Roll::difference(std::span<const Card> cards) const {
  const Card& first = cards.front();
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const Card& card = cards[rank];
    const auto who = [&] { return "rank " + std::to_string(rank) + " on " + endpoints_[rank].node; };
    if (card.version != first.version)
      return "the ranks differ: " + who() + " runs linkmatrix " + text_of(card.version) + ", rank 0 on " +
             endpoints_.front().node + " " + text_of(first.version) + ": start the same program on all nodes";
    if (card.options != first.options)
      return "the ranks' options differ: " + who() + " was given '" + text_of(card.options) + "', rank 0 '" +
             text_of(first.options) + "': give all the same";
    if (card.complaint.front() != 0) return who() + ": " + text_of(card.complaint);
  }
  return "";
}

/// Why the wanted transport cannot be.
std::string Roll::transport_refusal() const {
  const bool device = options_.memory == Memory::device;
  const Transport asked = options_.transport;
  if (!device && asked != Transport::automatic && asked != Transport::mpi)
    return "--transport " + std::string(word(asked)) + " is for --memory device: host memory goes by MPI";
  if (device && asked == Transport::mpi && !cuda_aware_)
    return "--transport mpi: " + mpi_library() + " does not say that it takes addresses of devices (CUDA-aware)";
  if (asked == Transport::ipc && nodes_.size() > 1)
    return "--transport ipc reaches the devices of one node only: start all ranks on one";
  std::set<std::string> seen;
  for (const Endpoint& endpoint : endpoints_)
    if (device && !seen.insert(endpoint.uuid).second)
      return "two ranks have the same GPU, " + endpoint.uuid + ": start one rank for each GPU";
  return "";
}

std::vector<std::string> Roll::nodes_of_ranks() const {
  std::vector<std::string> out;
  for (const Endpoint& endpoint : endpoints_) out.push_back(endpoint.node);
  return out;
}

std::vector<std::string> Roll::labels(bool by_node) const {
  if (by_node) return nodes_;
  std::vector<std::string> out;
  for (const Endpoint& endpoint : endpoints_) out.push_back(endpoint.label);
  return out;
}

std::string Roll::link_class(bool by_node, std::size_t row, std::size_t column) const {
  if (row == column) return "X";
  return std::string(by_node || !same_node(row, column) ? between_nodes : inside_node);
}

Transport Roll::way(bool same_node) const {
  if (options_.memory == Memory::host) return Transport::mpi;
  if (options_.transport != Transport::automatic) return options_.transport;
  if (same_node) return Transport::ipc;
  return cuda_aware_ ? Transport::mpi : Transport::staged;
}

std::string Roll::transport(bool by_node, std::size_t row, std::size_t column) const {
  const auto first = [&](std::size_t cell) {
    return by_node ? static_cast<std::size_t>(ranks_of_[cell].front()) : cell;
  };
  return std::string(word(way(first(row), first(column))));
}

Topology Roll::topology(std::size_t most) const {
  const std::size_t n = endpoints_.size() > most ? 0 : endpoints_.size();
  Topology topology{Matrix<std::string>(n, n), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n),
                    Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
  for (std::size_t r = 0; r < n; ++r) {
    topology.min_path(r, r) = 0;
    for (std::size_t c = 0; c < n; ++c) topology.link_class(r, c) = link_class(false, r, c);
  }
  return topology;
}

Rounds Roll::rounds(bool by_node, bool both_ways, bool bisection) const {
  RoundOptions options;
  options.by_node = by_node;
  options.both_ways = both_ways;
  options.bisection = bisection;
  options.mapping = options_.mapping;
  options.lanes = options_.lanes;
  if (options.lanes == 0 && by_node)
    options.lanes = most_lanes;
  else if (options.lanes == 0 && nodes_.size() > 1)
    options.lanes = static_cast<std::size_t>(std::max(1, adapters_));
  if (nodes_.size() < 2 && (bisection || by_node))
    throw BadInput("all ranks are on one node: matrices of nodes and --concurrency bisection need two or more");
  if (by_node && std::min(options.lanes, widest_node()) > most_lanes)
    throw BadInput("--pairs-per-node: at most " + std::to_string(most_lanes) + " pairs of ranks go together");
  return Rounds(ranks_of_, options);
}

std::size_t Roll::widest_node() const {
  std::size_t most = 0;
  for (const auto& ranks : ranks_of_) most = std::max(most, ranks.size());
  return most;
}

void Roll::check_memory(std::uint64_t bytes) const {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const std::uint64_t needed = 2 * bytes * ranks_of_[node].size();
    if (needed > available_[node])
      throw BadInput("--size needs " + format_size(needed) + " of host memory for the ranks on " + nodes_[node] +
                     ", where " + std::to_string(available_[node] / MiB) +
                     " MiB are available: use a smaller --size or fewer ranks a node");
  }
}

}  // namespace linkmatrix::ranks
