#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <future>

#include "core/visibility.hpp"

namespace linkmatrix::cuda {

/// The two sides of a visibility test (core/visibility.hpp), each run by one block of threads. end: result, in device
/// memory. Flag and answer are initially 0. A wait ends after the patience by the device's clock.
void launch_writer(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);
void launch_checker(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream);

/// Loads the kernels on the current device. See load_kernels().
void load_handover_kernels();

/// The host side of a visibility test: a thread that waits for begin() and then runs. The destructor begins and waits.
class HostSide {
 public:
  HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes);
  ~HostSide() { begin(); }
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  void begin() { begun_ = true; }
  /// Waits for the end and returns the result. The terms limit the time.
  HandoverEnd end() { return end_.get(); }

 private:
  std::atomic<bool> begun_ = false;
  std::future<HandoverEnd> end_;  ///< destroyed first, because it waits for the thread
};

}  // namespace linkmatrix::cuda
