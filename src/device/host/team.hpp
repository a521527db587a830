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

/// Threads of one endpoint, each bound to its own core, which share its copies, because one core cannot fill the link
/// between two NUMA nodes. Started on demand.
class Team {
 public:
  explicit Team(std::vector<int> cores) : cores_{std::move(cores)} {}

  /// Returns the maximum number of threads: the cores of the endpoint, or as many as the system starts.
  std::size_t most() const { return cores_.size(); }

  /// Returns at least one and at most `wanted` threads. Throws std::system_error if no thread can be started.
  std::span<const std::unique_ptr<Worker>> threads(std::size_t wanted);

  /// Returns why there are fewer threads than cores; "" if all could be started.
  const std::string& refused() const { return refused_; }

 private:
  std::vector<int> cores_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::string refused_;
};

/// Part of a copy for one thread.
struct Share {
  std::uint64_t at = 0, bytes = 0;
};

/// Splits a copy into at most `threads` page-aligned shares of at least 1 MiB each. Smaller shares would end before
/// other threads have started.
std::vector<Share> shares(std::uint64_t bytes, std::size_t threads);

/// Returns the number of threads that fill a path: 1, 2, 4 … up to `most`, until the next step gains less than 2 %.
/// rate: measures the rate with a number of threads.
std::size_t threads_that_fill(std::size_t most, const std::function<double(std::size_t threads)>& rate);

/// Properties of copies that need the same number of threads.
struct PathKind {
  bool same_node = false;  ///< whether both endpoints are on one NUMA node
  std::size_t cores = 1;   ///< cores of the copying endpoint
  Engine engine{};
  Kernel kernel{};
  Direction direction{};
  bool peer_access = true;
  auto operator<=>(const PathKind&) const = default;
};

/// Number of threads per type of path and size of copy, determined once.
class PathThreads {
 public:
  /// Determines the number of threads. rate: measures a copy made by as many threads as `of` returns.
  void count(const PathKind& kind, std::uint64_t bytes, const std::function<double()>& rate);

  /// Returns the number for the next larger known size, or the largest; 1 if none is known.
  std::size_t of(const PathKind& kind, std::uint64_t bytes) const;

  /// Returns the determined numbers, one sentence each.
  std::vector<std::string> remarks() const;

 private:
  std::map<PathKind, std::map<std::uint64_t, std::size_t>> threads_;
};

}  // namespace linkmatrix
