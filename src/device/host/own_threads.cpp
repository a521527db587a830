#include "device/host/own_threads.hpp"

#include <algorithm>
#include <utility>

namespace linkmatrix {

std::optional<OwnThreads::Look> OwnThreads::look(const std::filesystem::path& process) {
  Look found;
  std::map<unsigned, Turns> now;
  double live = 0;
  for (const auto& [number, folder] : threads_of(process)) {
    const auto turns = turns_of(folder);
    if (!turns) continue;
    const auto known = before_.find(number);
    const bool is_known = known != before_.end() && known->second.ran <= turns->ran;  // else another has its number
    const Turns before = is_known ? known->second : Turns{};
    if (is_known) before_.erase(known);
    found.threads.push_back({allowed_cores(folder),
                             Turns{turns->ran - before.ran, std::max(0.0, turns->waited - before.waited)}, turns->ran});
    now.emplace(number, *turns);
    live += turns->ran;
  }
  if (now.empty()) return std::nullopt;
  for (const auto& [number, turns] : before_) ended_ += turns.ran;
  before_ = std::move(now);
  // what a thread did between the last look at it and its end is in the sum of its process alone, which counts in ticks
  const auto all = task_of(process);
  const double ran = std::max({ran_, live + ended_, all ? all->seconds : 0.0});
  found.ran = ran - std::exchange(ran_, ran);
  return found;
}

}  // namespace linkmatrix
