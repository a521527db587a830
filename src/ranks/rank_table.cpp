#include "ranks/rank_table.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"
#include "ranks/communicator.hpp"
#include "ranks/introduction.hpp"

namespace linkmatrix::ranks {

RankTable::RankTable(std::span<const RankFacts> facts, const NetworkOptions& options) : options_{options} {
  for (const RankFacts& rank : facts) add(rank);
  if (!facts.empty()) refusal_ = check(facts);
}

void RankTable::add(const RankFacts& facts) {
  const std::size_t rank = endpoints_.size();
  Endpoint endpoint;
  endpoint.index = static_cast<int>(rank);
  endpoint.node = text_of(facts.node);
  endpoint.label = label_of(facts);
  endpoint.name = text_of(facts.model);
  endpoint.uuid = text_of(facts.uuid);
  endpoint.pci = text_of(facts.pci);
  endpoint.numa = facts.numa;
  if (const std::string domain = text_of(facts.domain); !domain.empty()) endpoint.place["domain"] = domain;
  nvlinks_.push_back({facts.nvlinks, facts.nvlink_limit, text_of(facts.fabric)});
  if (const std::string nics = text_of(facts.nics); !nics.empty()) endpoint.nics = split(nics, ',');
  const auto [at, is_new] = node_numbers_.try_emplace(endpoint.node, nodes_.size());
  const std::size_t node = at->second;
  if (is_new) {
    nodes_.push_back(endpoint.node);
    ranks_of_.emplace_back();
    available_.push_back(facts.available);
  }
  ranks_of_[node].push_back(static_cast<int>(rank));
  cuda_aware_ = (rank == 0 || cuda_aware_) && facts.cuda_aware;
  no_device_.push_back({text_of(facts.no_device), facts.no_device_loss});
  if (no_device_.back().why.empty()) {
    have_descriptors_ = have_descriptors_ && facts.has_descriptors;
    if (no_fabric_.empty()) no_fabric_ = text_of(facts.no_fabric);
  }
  adapters_ = rank == 0 ? facts.adapters : std::min(adapters_, facts.adapters);
  endpoints_.push_back(std::move(endpoint));
}

std::string RankTable::check(std::span<const RankFacts> facts) const {
  if (const std::string text = difference(facts); !text.empty()) return text;
  if (const std::string text = transport_refusal(); !text.empty()) return text;
  if (facts.size() < 2) return "only one rank was started: start two or more with mpirun -n, or omit --backend mpi";
  return "";
}

/// Returns a sentence on a rank that differs from rank 0; "" if none does.
std::string RankTable::difference(std::span<const RankFacts> facts) const {
  const RankFacts& first = facts.front();
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    const RankFacts& own = facts[rank];
    const auto rank_name = [&] { return "rank " + std::to_string(rank) + " on " + endpoints_[rank].node; };
    if (own.version != first.version)
      return "the ranks differ: " + rank_name() + " runs linkmatrix " + text_of(own.version) + ", rank 0 on " +
             endpoints_.front().node + " " + text_of(first.version) + ": start the same program on all nodes";
    if (own.options != first.options)
      return "the ranks' options differ: " + rank_name() + " has '" + text_of(own.options) + "', rank 0 '" +
             text_of(first.options) + "': give all ranks the same options";
    if (own.complaint.front() != 0) return rank_name() + ": " + text_of(own.complaint);
    // otherwise they would count as one node with one clock
    const int known = ranks_of_[node_numbers_.at(endpoints_[rank].node)].front();
    const RankFacts& neighbour = facts[static_cast<std::size_t>(known)];
    const bool are_known = own.boot.front() != 0 && neighbour.boot.front() != 0;
    if (are_known && own.boot != neighbour.boot)
      return "rank " + std::to_string(known) + " and rank " + std::to_string(rank) +
             " are on two hosts with the same name, " + endpoints_[rank].node + ": give each host its own name";
  }
  if (std::none_of(no_device_.begin(), no_device_.end(), [](const NoDevice& one) { return one.why.empty(); }))
    return "no rank has a working device: " + no_device_.front().why;
  return "";
}

/// Returns why --transport is impossible here; "" if it is possible.
std::string RankTable::transport_refusal() const {
  const bool device = options_.memory == Memory::device;
  const Transport asked = options_.transport;
  if (!device && asked != Transport::automatic && asked != Transport::mpi)
    return "--transport " + std::string(word(asked)) + " needs --memory device: host memory is sent by MPI";
  if (device && asked == Transport::mpi && !cuda_aware_)
    return "--transport mpi: " + mpi_library() +
           " does not report that it is CUDA-aware: use --transport staged, or a CUDA-aware MPI";
  if ((asked == Transport::ipc || asked == Transport::fd) && nodes_.size() > 1)
    return "--transport " + std::string(word(asked)) +
           " connects devices of one node only: start all ranks on one node";
  if (asked == Transport::fd && !have_descriptors_)
    return "--transport fd: the driver cannot share memory by file descriptors here: use --transport ipc";
  if (asked == Transport::fabric)
    if (const std::string text = domain_refusal(); !text.empty()) return "--transport fabric: " + text;
  std::set<std::string> seen;
  for (const Endpoint& endpoint : endpoints_)
    if (device && !endpoint.uuid.empty() && !seen.insert(endpoint.uuid).second)
      return "two ranks have the same GPU, " + endpoint.uuid + ": start one rank per GPU";
  return "";
}

/// Returns why fabric handles do not connect all ranks; "" if they do or if NVML does not report it.
std::string RankTable::domain_refusal() const {
  if (!no_fabric_.empty()) return no_fabric_;
  if (nodes_.size() < 2) return "";
  std::optional<std::size_t> first;
  for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
    const Endpoint& endpoint = endpoints_[rank];
    const auto domain = endpoint.place.find("domain");
    if (domain == endpoint.place.end()) {
      if (nvlinks_[rank].fabric.empty()) continue;
      return endpoint.label +
             " is in no NVLink domain that spans nodes (NVML's fabric state: " + nvlinks_[rank].fabric +
             "): use --transport mpi or staged";
    }
    if (!first) first = rank;
    const Endpoint& other = endpoints_[*first];
    if (domain->second != other.place.at("domain"))
      return other.label + " is in NVLink domain " + other.place.at("domain") + ", " + endpoint.label + " in " +
             domain->second + ": start all ranks in one domain and clique";
  }
  return "";
}

bool RankTable::over_nvlink(std::size_t a, std::size_t b) const {
  const bool in_domain = endpoints_[a].place.contains("domain") && endpoints_[b].place.contains("domain");
  return options_.memory == Memory::device && options_.transport == Transport::fabric &&
         (in_domain || !same_node(a, b)) && nvlinks_between(a, b) > 0;
}

int RankTable::nvlinks_between(std::size_t a, std::size_t b) const {
  return std::min(nvlinks_[a].active, nvlinks_[b].active);
}

std::vector<std::string> RankTable::nodes_of_ranks() const {
  std::vector<std::string> out;
  for (const Endpoint& endpoint : endpoints_) out.push_back(endpoint.node);
  return out;
}

std::vector<std::string> RankTable::labels(bool by_node) const {
  if (by_node) return nodes_;
  std::vector<std::string> out;
  for (const Endpoint& endpoint : endpoints_) out.push_back(endpoint.label);
  return out;
}

std::string RankTable::link_class(bool by_node, std::size_t row, std::size_t column) const {
  if (row == column) return "X";
  if (!by_node && links_) return links_->link_class(row, column);
  if (!by_node && over_nvlink(row, column)) return "NV" + std::to_string(nvlinks_between(row, column));
  return std::string(by_node || !same_node(row, column) ? between_nodes : inside_node);
}

Transport RankTable::route(bool same_node) const {
  if (options_.memory == Memory::host) return Transport::mpi;
  if (options_.transport != Transport::automatic) return options_.transport;
  if (same_node) return sharing();
  return cuda_aware_ ? Transport::mpi : Transport::staged;
}

/// Messages by MPI need plain device memory, because MPI may not support the virtual memory API.
Transport RankTable::sharing() const {
  const Transport asked = options_.transport;
  if (asked == Transport::mpi || asked == Transport::staged) return Transport::ipc;
  if (asked == Transport::automatic && cuda_aware_ && nodes_.size() > 1) return Transport::ipc;
  return copies_sharing();
}

Transport RankTable::copies_sharing() const {
  const Transport asked = options_.transport;
  if (asked == Transport::fd || asked == Transport::fabric || asked == Transport::ipc) return asked;
  return have_descriptors_ ? Transport::fd : Transport::ipc;
}

void RankTable::set_links(std::vector<Endpoint> endpoints, Topology links) {
  endpoints_ = std::move(endpoints);
  links_ = std::move(links);
}

std::string RankTable::transport(bool by_node, std::size_t row, std::size_t column) const {
  const auto first = [&](std::size_t cell) {
    return by_node ? static_cast<std::size_t>(ranks_of_[cell].front()) : cell;
  };
  return std::string(word(route(first(row), first(column))));
}

Topology RankTable::topology(std::size_t most) const {
  if (links_) return *links_;
  const std::size_t n = endpoints_.size() > most ? 0 : endpoints_.size();
  Topology topology{Matrix<std::string>(n, n), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n),
                    Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
  for (std::size_t r = 0; r < n; ++r) {
    topology.min_path(r, r) = 0;
    for (std::size_t c = 0; c < n; ++c) {
      topology.link_class(r, c) = link_class(false, r, c);
      if (options_.memory == Memory::device && !same_node(r, c))
        topology.peer_access(r, c) = copies_sharing() == Transport::fabric;
      if (r == c || !over_nvlink(r, c)) continue;
      topology.links(r, c) = nvlinks_between(r, c);
      if (const double limit = std::min(nvlinks_[r].limit, nvlinks_[c].limit); limit > 0) topology.limit(r, c) = limit;
    }
  }
  return topology;
}

RankRounds RankTable::rounds(bool by_node, bool bidirectional, bool bisection) const {
  RoundOptions options;
  options.by_node = by_node;
  options.bidirectional = bidirectional;
  options.bisection = bisection;
  options.mapping = options_.mapping;
  options.width = options_.pairs_per_node;
  if (options.width == 0 && by_node)
    options.width = most_pairs;
  else if (options.width == 0 && nodes_.size() > 1)
    options.width = static_cast<std::size_t>(std::max(1, adapters_));
  if (nodes_.size() < 2 && (bisection || by_node))
    throw BadInput("all ranks are on one node: matrices of nodes and --concurrency bisection need two or more");
  if (by_node && std::min(options.width, widest_node()) > most_pairs)
    throw BadInput("--pairs-per-node is too large: at most " + std::to_string(most_pairs) +
                   " pairs of ranks are possible");
  return RankRounds(ranks_of_, options);
}

std::size_t RankTable::widest_node() const {
  std::size_t most = 0;
  for (const auto& ranks : ranks_of_) most = std::max(most, ranks.size());
  return most;
}

void RankTable::check_memory(std::uint64_t bytes) const {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const std::uint64_t needed = 3 * bytes * ranks_of_[node].size();
    if (needed > available_[node])
      throw BadInput("--size needs " + format_size(needed) + " of host memory for the ranks on " + nodes_[node] +
                     ", but " + std::to_string(available_[node] / MiB) +
                     " MiB are available: use a smaller --size or fewer ranks per node");
  }
}

}  // namespace linkmatrix::ranks
