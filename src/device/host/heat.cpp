#include "device/host/heat.hpp"

#include <map>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr double time_to_cool = 10;  // seconds for the last product, if threads share cores

}  // namespace

std::vector<Heated> heat_endpoints(std::span<HostEndpointState> endpoints, double seconds, std::optional<int> flips,
                                   const std::shared_ptr<HostRun>& run, Deadline deadline) {
  const auto thread_of = [&](int device) -> Worker& {
    return *endpoints[static_cast<std::size_t>(device)].team->threads(1).front();
  };
  std::map<int, std::shared_ptr<Heated>> heated;
  for (int device = 0; device < static_cast<int>(endpoints.size()); ++device) {
    const HostEndpointState& endpoint = endpoints[static_cast<std::size_t>(device)];
    if (!endpoint.team || endpoint.lost) continue;
    const auto mine = heated[device] = std::make_shared<Heated>(Heated{device});
    thread_of(device).start([run, mine, flip = flips == device] { heat_until_stopped(*mine, flip, *run); });
  }
  std::vector<Heated> all;
  for (const auto& [device, mine] : heated) {
    Worker& thread = thread_of(device);
    if (!thread.wait(earlier(Deadline::in(seconds + time_to_cool), deadline)) && !thread.wait_after_deadline())
      throw TimedOut(endpoints[static_cast<std::size_t>(device)].endpoint.label +
                     ": the heating computation did not end in time");
    all.push_back(*mine);
  }
  return all;
}

}  // namespace linkmatrix
