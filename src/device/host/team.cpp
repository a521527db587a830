#include "device/host/team.hpp"

#include <algorithm>
#include <system_error>

#include "core/units.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t least_share = 1 * MiB;
constexpr double least_gain = 1.02;  // larger than the variation between runs

}  // namespace

std::span<const std::unique_ptr<Worker>> Team::threads(std::size_t wanted) {
  wanted = std::clamp<std::size_t>(wanted, 1, most());
  while (workers_.size() < wanted) {
    const std::vector<int> core{cores_[workers_.size()]};
    try {
      workers_.push_back(std::make_unique<Worker>(core));
    } catch (const std::system_error& e) {
      refused_ = "only " + std::to_string(workers_.size()) + " threads can be started: " + e.code().message();
      if (workers_.empty()) throw;
      cores_.resize(workers_.size());  // do not try again
      wanted = workers_.size();
    }
  }
  return std::span(workers_).first(wanted);
}

std::vector<Share> shares(std::uint64_t bytes, std::size_t threads) {
  const std::uint64_t most = std::clamp<std::uint64_t>(bytes / least_share, 1, std::max<std::size_t>(threads, 1));
  if (most == 1) return {{0, bytes}};
  const std::uint64_t step = (bytes / most + page_bytes) / page_bytes * page_bytes;
  std::vector<Share> out;
  for (std::uint64_t at = 0; at < bytes; at += step) out.push_back({at, std::min(step, bytes - at)});
  return out;
}

std::size_t find_thread_count(std::size_t most, const std::function<double(std::size_t)>& rate) {
  std::size_t threads = 1;
  double best = rate(threads);
  while (threads < most) {
    const std::size_t next = std::min(2 * threads, most);
    const double faster = rate(next);
    if (faster < best * least_gain) break;
    threads = next;
    best = faster;
  }
  return threads;
}

void PathThreads::determine(const PathKind& kind, std::uint64_t bytes, const std::function<double()>& rate) {
  const std::size_t most = shares(bytes, kind.cores).size();
  std::map<std::uint64_t, std::size_t>& of_size = threads_[kind];
  if (most == 1 || of_size.contains(bytes)) return;
  of_size[bytes] = find_thread_count(most, [&](std::size_t threads) {
    of_size[bytes] = threads;
    return rate();
  });
}

std::size_t PathThreads::number(const PathKind& kind, std::uint64_t bytes) const {
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
                        " NUMA node" + (kind.same_node ? "" : "s") + " use " + std::to_string(threads) + " of " +
                        std::to_string(kind.cores) + " cores: more cores add less than 2 %");
  return remarks;
}

}  // namespace linkmatrix
