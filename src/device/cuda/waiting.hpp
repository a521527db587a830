#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/failures.hpp"

namespace linkmatrix::cuda {

/// What is under way when the time is over ends within this, or its device hangs: no single copy takes as long.
constexpr std::chrono::seconds settle_time{2};

/// An event that a copy must come to.
struct Awaited {
  std::size_t copy;  ///< which of the call
  Station& on;
  cudaEvent_t event;
};

/// Looks at all events in turn until each has happened or failed, and calls `meanwhile` all the time. Where the
/// deadline comes first, copies that end soon after it are late, and the others' devices hang.
void await_all(
    std::vector<Awaited> events, Deadline deadline, Failures& failures, const std::function<void()>& meanwhile = [] {});

}  // namespace linkmatrix::cuda
