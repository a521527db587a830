#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace linkmatrix::cuda {

/// Ordinals of a device and of the device whose memory it accesses.
using PeerPair = std::pair<int, int>;

/// Enables and disables peer access. A device has a maximum number of peers (8 without an NVSwitch), so pairs may have
/// to be switched between calls of the back end. No copy may run during a change.
class PeerAccess {
 public:
  /// Calls of the driver. The first device of the pair is current.
  struct Driver {
    std::function<cudaError_t(PeerPair)> enable, disable;
  };
  static Driver cuda_driver();
  explicit PeerAccess(Driver driver = cuda_driver()) : driver_{std::move(driver)} {}

  /// Enables (true) or disables (false) pairs concurrently for all devices, because each change takes milliseconds.
  /// Ignores failures: turn_on() reports them.
  void prepare(const std::map<PeerPair, bool>& wanted);

  /// Enables a pair. If the device has its maximum of peers, first disables a pair that is not in `needed`. Throws
  /// CudaError.
  void turn_on(PeerPair pair, const std::set<PeerPair>& needed);
  /// Throws CudaError.
  void turn_off(PeerPair pair);

  bool is_on(PeerPair pair) const;
  /// Disables all pairs, for other users of CUDA in this process.
  void all_off();

 private:
  cudaError_t enable(PeerPair pair);

  Driver driver_;
  std::map<int, std::set<int>> on_;  ///< peers of each device
};

}  // namespace linkmatrix::cuda
