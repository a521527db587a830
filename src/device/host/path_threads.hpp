#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/words.hpp"
#include "device/host/team.hpp"

namespace linkmatrix {

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
