#include "device/cuda/waiting.hpp"

#include <optional>
#include <thread>

namespace linkmatrix::cuda {
void await_all(std::vector<Awaited> events, Deadline deadline, Failures& failures,
               const std::function<void()>& meanwhile) {
  std::optional<Clock::time_point> given_up;
  for (;;) {
    std::vector<Awaited> open;
    for (const Awaited& awaited : events) {
      const cudaError_t status = cudaEventQuery(awaited.event);
      if (status == cudaErrorNotReady) open.push_back(awaited);
      if (status == cudaErrorNotReady || status == cudaSuccess) continue;
      cudaGetLastError();
      failures.failed(awaited.copy, words_of(status));
    }
    if (open.empty()) return;
    if (!given_up && deadline.passed()) {
      given_up = Clock::now() + settle_time;
      for (const Awaited& awaited : open) failures.late(awaited.copy);
    }
    if (given_up && Clock::now() >= *given_up) {
      for (const Awaited& awaited : open) failures.hung(awaited.copy, awaited.on);
      return;
    }
    if (!given_up) meanwhile();
    std::this_thread::yield();
    std::swap(events, open);
  }
}

}  // namespace linkmatrix::cuda
