#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/copy_work.hpp"
#include "device/cuda/launch_gate.hpp"

namespace linkmatrix::cuda {

/// Collects the failures of the copies of one call, determines the lost devices, and throws CopiesFailed.
class Failures {
 public:
  Failures(const CopyWork& work, std::span<const Copy> copies, std::vector<EndpointState>& endpoint_states)
      : work_{work}, copies_{copies}, endpoint_states_{endpoint_states} {}

  bool empty() const { return failures_.empty(); }

  /// Adds the copies of devices that were lost before.
  void refuse_lost();
  /// Adds a device that works but has too little memory for these copies.
  void lacks(const EndpointState& device, const std::string& why, LossKind loss) {
    fail_all(device, CellStatus::error, why, loss);
  }
  /// Adds a failed copy, and checks whether the devices of all copies still work.
  void failed(std::size_t copy, const std::string& why);
  /// Adds a common failure: the copies of a device that broke, else all copies.
  void all_failed(const std::string& why);
  /// Adds a copy that did not end because its device hangs.
  void hung(std::size_t copy, EndpointState& device);
  /// Adds a copy that missed the deadline on a working device.
  void late(std::size_t copy);

  /// Throws CopiesFailed if there are failures.
  void raise() const;

  /// Runs `work` for one copy on a device, and records its failure.
  template <class Work>
  void guard(std::size_t copy, EndpointState& device, const Work& work) {
    try {
      work();
    } catch (const CudaError& e) {
      failed(copy, e.what());
    } catch (const TimedOut&) {
      hung(copy, device);
    }
  }

  /// Returns the result of the call. A failure without a specific copy becomes CopiesFailed.
  template <class Call>
  auto guard_all(const Call& call) {
    try {
      return call();
    } catch (const CudaError& e) {
      all_failed(e.what());
      raise();
      throw;
    }
  }

 private:
  bool find_broken();
  void add(std::size_t copy, CellStatus status, const EndpointState* lost, const std::string& why,
           LossKind loss = LossKind::device);
  void lose(EndpointState& device, CellStatus status, const std::string& why);
  void fail_all(const EndpointState& device, CellStatus status, const std::string& why, LossKind loss);

  const CopyWork& work_;
  std::span<const Copy> copies_;
  std::vector<EndpointState>& endpoint_states_;
  std::vector<CopiesFailed::Failure> failures_;
  std::string why_;
};

/// Time in which pending work ends after the deadline, or its device hangs.
constexpr std::chrono::seconds settle_time{2};

/// An event that a copy must reach.
struct Awaited {
  std::size_t copy;  ///< index of the copy in the call
  EndpointState& on;
  cudaEvent_t event;
};

/// Polls all events until each has happened or failed, and calls `meanwhile` repeatedly. After the deadline, copies
/// that end soon are late; devices of the others hang.
void await_all(
    std::vector<Awaited> events, Deadline deadline, Failures& failures, const std::function<void()>& meanwhile = [] {});

/// Runs copies that the driver queues without waiting: all are held by the gate, which opens when the last of them
/// waits. Events time them; the opening is the common start. Throws CopiesFailed.
Timeline run_gated(const CopyWork& work, LaunchGate& gate, std::span<const Copy> copies, Failures& failures,
                   Deadline deadline);

/// Runs copies for which the driver waits inside the call: this thread hands over one transfer of each in turn, and its
/// clock times them. Throws CopiesFailed.
Timeline run_in_turn(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

/// Runs every copy once, with chains as plain copies over the same path. Failures go into `failures`.
void copy_once(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

}  // namespace linkmatrix::cuda
