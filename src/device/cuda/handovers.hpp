#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <future>

#include "core/visibility.hpp"

namespace linkmatrix::cuda {

/// One side of a visibility test (core/visibility.hpp), run by the threads of one block, with its result in `end`. Flag
/// and answer are initially 0. A running kernel never waits longer than the patience, by the device's clock.
void launch_writer(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);
void launch_checker(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);

/// Loads the kernels on the current device, so that no launch waits for loading.
void load_handover_kernels();

/// The host side of a visibility test: a thread of this process. It starts when `begin` is called, at the latest at
/// destruction.
class HostSide {
 public:
  HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes);
  ~HostSide() { begin(); }
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  void begin() { begun_ = true; }
  /// Waits for the end, which the terms bound.
  HandoverEnd end() { return end_.get(); }

 private:
  std::atomic<bool> begun_ = false;
  std::future<HandoverEnd> end_;  ///< destroyed first, because it waits for the thread
};

}  // namespace linkmatrix::cuda
