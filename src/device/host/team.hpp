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

/// The threads of one endpoint, each bound to its own core and started on demand. They share copies, because one core
/// cannot fill the link between two NUMA nodes.
class Team {
 public:
  explicit Team(std::vector<int> cores) : cores_{std::move(cores)} {}

  /// Returns the maximum number of threads: the cores of the endpoint, fewer if the system refused a thread.
  std::size_t most() const { return cores_.size(); }

  /// Returns 1 to `wanted` threads. Throws std::system_error if no thread can be started.
  std::span<const std::unique_ptr<Worker>> threads(std::size_t wanted);

  /// Returns why the system refused a thread; "" if none was refused.
  const std::string& refused() const { return refused_; }

 private:
  std::vector<int> cores_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::string refused_;
};

/// Part of a copy for one thread: offset and size in bytes.
struct Share {
  std::uint64_t at = 0, bytes = 0;
};

/// Splits a copy into at most `threads` page-aligned shares of at least 1 MiB, because smaller shares would end before
/// other threads start.
std::vector<Share> shares(std::uint64_t bytes, std::size_t threads);

/// Returns the number of threads that fill a path. Tries 1, 2, 4, … up to `most`, until the next step gains less than 2
/// %. rate: returns the measured rate with a number of threads.
std::size_t find_thread_count(std::size_t most, const std::function<double(std::size_t threads)>& rate);

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

/// Number of threads per type of path and copy size. Each is determined once.
class PathThreads {
 public:
  /// Determines the number of threads. rate: measures a copy with number() threads and returns its rate.
  void determine(const PathKind& kind, std::uint64_t bytes, const std::function<double()>& rate);

  /// Returns the number for the smallest known size that is not smaller, else for the largest known size; 1 if no size
  /// is known.
  std::size_t number(const PathKind& kind, std::uint64_t bytes) const;

  /// Returns one sentence per determined number, for the record.
  std::vector<std::string> remarks() const;

 private:
  std::map<PathKind, std::map<std::uint64_t, std::size_t>> threads_;
};

}  // namespace linkmatrix
