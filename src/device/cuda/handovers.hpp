#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <future>

#include "core/visibility.hpp"

namespace linkmatrix::cuda {

/// One side of a visibility test (core/visibility.hpp) by the threads of one block, which leave in `end` what they saw.
/// Flag and answer are 0 before. A kernel ends by the device's clock: running, none waits longer than the patience.
void launch_writer(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);
void launch_checker(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);

/// Loads the kernels of the current device, so that no launch waits for it.
void load_handover_kernels();

/// The side that host memory has: a thread of this process. It begins when it is told to; at its own end at the latest.
class HostSide {
 public:
  HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes);
  ~HostSide() { begin(); }
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  void begin() { begun_ = true; }
  /// Waits for its end, which is bounded by the terms.
  HandoverEnd end() { return end_.get(); }

 private:
  std::atomic<bool> begun_ = false;
  std::future<HandoverEnd> end_;  ///< waits for the thread when it goes: before what the thread uses
};

}  // namespace linkmatrix::cuda
