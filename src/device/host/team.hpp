#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/words.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {

/// The threads of one endpoint, each bound to a core of its own, that share its copies: one core's copies fill a core,
/// and not the link between two NUMA nodes. They are started when they are asked for.
class Team {
 public:
  explicit Team(std::vector<int> cores) : cores_{std::move(cores)} {}

  /// As many as the endpoint has cores, or as the system would start.
  std::size_t most() const { return cores_.size(); }

  /// At least one and at most `wanted` threads. Throws std::system_error where not even one can be started.
  std::span<const std::unique_ptr<Worker>> threads(std::size_t wanted);

  /// Why there are fewer than cores; empty where all could be started that were asked for.
  const std::string& refused() const { return refused_; }

 private:
  std::vector<int> cores_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::string refused_;
};

/// What one of several threads copies.
struct Share {
  std::uint64_t at = 0, bytes = 0;
};

/// Cuts a copy into shares that begin at multiples of a page; at most `threads`, and each of 1 MiB or more: what is
/// smaller is done before the others have begun.
std::vector<Share> shares(std::uint64_t bytes, std::size_t threads);

/// How many threads fill a path: 1, 2, 4 … and at last `most`, until the next step gains less than 2 %. `rate` measures
/// with so many.
std::size_t threads_that_fill(std::size_t most, const std::function<double(std::size_t threads)>& rate);

/// What copies have in common whose way is filled by as many threads.
struct PathKind {
  bool same_node = false;  ///< both ends lie on one NUMA node
  std::size_t cores = 1;   ///< of the endpoint that copies
  Engine engine{};
  Kernel kernel{};
  Direction direction{};
  bool peer_access = true;
  auto operator<=>(const PathKind&) const = default;
};

/// How many threads fill each kind of path, by the size of a copy: counted once for each.
class PathThreads {
 public:
  /// `rate` measures a copy, which is made by as many threads as `of` answers meanwhile.
  void count(const PathKind& kind, std::uint64_t bytes, const std::function<double()>& rate);

  /// Of the next larger size that was counted, or the largest; 1 where none was.
  std::size_t of(const PathKind& kind, std::uint64_t bytes) const;

  /// What was counted, one sentence each.
  std::vector<std::string> remarks() const;

 private:
  std::map<PathKind, std::map<std::uint64_t, std::size_t>> threads_;
};

}  // namespace linkmatrix
