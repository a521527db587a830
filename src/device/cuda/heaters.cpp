#include "device/cuda/heaters.hpp"

#include <thread>

#include "device/cuda/failures.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr double longest_batch = 5;  // seconds; usually about 10 ms

}  // namespace

std::vector<Heated> Heaters::heat(std::span<EndpointState> devices, double seconds, std::optional<int> flips,
                                  Deadline deadline) {
  if (!expected_) expected_ = expected_checksum(Heater::n);
  std::vector<Heated> heated;
  for (int device = 0; device < static_cast<int>(devices.size()); ++device) {
    const EndpointState& endpoint_state = devices[static_cast<std::size_t>(device)];
    if (endpoint_state.lost) continue;
    if (!heaters_[device])
      heaters_[device] = std::make_unique<Heater>(endpoint_state.endpoint.index, endpoint_state.where());
    heated.push_back({device});
  }
  const Deadline over = earlier(Deadline::in(seconds), deadline);
  do {
    for (const Heated& one : heated) heaters_[one.endpoint]->enqueue(flips == one.endpoint && one.products == 0);
    const auto given_up = Clock::now() + std::chrono::duration<double>(longest_batch);
    for (Heated& one : heated) {
      while (!heaters_[one.endpoint]->is_done()) {
        if (Clock::now() >= given_up) {
          EndpointState& endpoint_state = devices[static_cast<std::size_t>(one.endpoint)];
          endpoint_state.broken = true;
          endpoint_state.lost = endpoint_state.where() + ": the heating kernel did not end in time";
          throw TimedOut(*endpoint_state.lost);
        }
        std::this_thread::yield();
      }
      one.products += Heater::batch;
      one.wrong += heaters_[one.endpoint]->wrong(*expected_);
    }
  } while (!over.passed());
  return heated;
}

}  // namespace linkmatrix::cuda
