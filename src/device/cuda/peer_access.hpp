#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace linkmatrix::cuda {

/// A device and the one whose memory it reaches, by their ordinals.
using PeerPair = std::pair<int, int>;

/// Turns devices' access to each other's memory on and off. A device takes only so many peers at once (8 where no
/// NVSwitch joins them): more pairs than that are switched from call to call. No copy may be under way meanwhile.
class PeerAccess {
 public:
  /// The driver's calls, with the device as their current one.
  struct Driver {
    std::function<cudaError_t(PeerPair)> enable, disable;
  };
  static Driver cuda_driver();
  explicit PeerAccess(Driver driver = cuda_driver()) : driver_{std::move(driver)} {}

  /// Makes each pair as it is wanted, as far as the devices take it: the devices at once, since it takes milliseconds
  /// where memory is there already. What fails is left to `turn_on`, which says so.
  void prepare(const std::map<PeerPair, bool>& wanted);

  /// Where the device takes no more peers, it gives up one that is not in `needed`. Throws CudaError.
  void turn_on(PeerPair pair, const std::set<PeerPair>& needed);
  /// Throws CudaError.
  void turn_off(PeerPair pair);

  bool is_on(PeerPair pair) const;
  /// Of every device, for the next user of this process: they stay on as long as it lives.
  void all_off();

 private:
  cudaError_t enable(PeerPair pair);

  Driver driver_;
  std::map<int, std::set<int>> on_;  ///< peers of each device
};

}  // namespace linkmatrix::cuda
