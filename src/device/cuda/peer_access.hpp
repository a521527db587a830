#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace linkmatrix::cuda {

/// Ordinals of a device and of the device whose memory it accesses.
using PeerPair = std::pair<int, int>;

/// Enables and disables peer access. A device has a maximum number of peers (8 without an NVSwitch), so more pairs are
/// switched between calls. No copy may be running during a switch.
class PeerAccess {
 public:
  /// Calls of the driver, with the device as the current one.
  struct Driver {
    std::function<cudaError_t(PeerPair)> enable, disable;
  };
  static Driver cuda_driver();
  explicit PeerAccess(Driver driver = cuda_driver()) : driver_{std::move(driver)} {}

  /// Sets each pair as wanted, as far as possible, concurrently for all devices, because it takes milliseconds with
  /// allocated memory. Failures are reported by `turn_on`.
  void prepare(const std::map<PeerPair, bool>& wanted);

  /// Enables a pair. A device without free peers first disables one that is not in `needed`. Throws CudaError.
  void turn_on(PeerPair pair, const std::set<PeerPair>& needed);
  /// Throws CudaError.
  void turn_off(PeerPair pair);

  bool is_on(PeerPair pair) const;
  /// Disables all pairs, for the next user in this process.
  void all_off();

 private:
  cudaError_t enable(PeerPair pair);

  Driver driver_;
  std::map<int, std::set<int>> on_;  ///< peers of each device
};

}  // namespace linkmatrix::cuda
