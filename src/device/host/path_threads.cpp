#include "device/host/path_threads.hpp"

#include "core/units.hpp"

namespace linkmatrix {

void PathThreads::count(const PathKind& kind, std::uint64_t bytes, const std::function<double()>& rate) {
  const std::size_t most = shares(bytes, kind.cores).size();
  std::map<std::uint64_t, std::size_t>& of_size = threads_[kind];
  if (most == 1 || of_size.contains(bytes)) return;
  of_size[bytes] = threads_that_fill(most, [&](std::size_t threads) {
    of_size[bytes] = threads;
    return rate();
  });
}

std::size_t PathThreads::of(const PathKind& kind, std::uint64_t bytes) const {
  const auto known = threads_.find(kind);
  if (known == threads_.end() || known->second.empty()) return 1;
  const auto at = known->second.lower_bound(bytes);
  return at == known->second.end() ? known->second.rbegin()->second : at->second;
}

std::vector<std::string> PathThreads::remarks() const {
  std::vector<std::string> remarks;
  for (const auto& [kind, of_size] : threads_)
    for (const auto& [bytes, threads] : of_size)
      remarks.push_back("copies of " + format_size(bytes) + (kind.same_node ? " inside a" : " between two") +
                        " NUMA node" + (kind.same_node ? "" : "s") + " are made by " + std::to_string(threads) +
                        " of " + std::to_string(kind.cores) + " cores: more add less than 2 %");
  return remarks;
}

}  // namespace linkmatrix
