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

/// Collects the failures of the copies of one back-end call, determines the lost devices, and throws CopiesFailed.
/// Copies are given by their index in the call.
class Failures {
 public:
  Failures(const CopyWork& work, std::span<const Copy> copies, std::vector<EndpointState>& endpoint_states)
      : work_{work}, copies_{copies}, endpoint_states_{endpoint_states} {}

  bool empty() const { return failures_.empty(); }

  /// Adds all copies of devices that were lost before the call.
  void refuse_lost();
  /// Adds all copies of a device that works but has too little memory.
  void lacks_memory(const EndpointState& device, const std::string& why, LossKind loss) {
    fail_all(device, CellStatus::error, why, loss);
  }
  /// Adds a failed copy. Checks whether the devices of all copies still work.
  void failed(std::size_t copy, const std::string& why);
  /// Adds a failure without a known copy: all copies of devices that no longer work, else all copies.
  void all_failed(const std::string& why);
  /// Adds a copy whose device hangs. The device is lost.
  void hung(std::size_t copy, EndpointState& device);
  /// Adds a copy that missed the deadline. Its device works.
  void late(std::size_t copy);

  /// Throws CopiesFailed if there are failures.
  void raise() const;

  /// Calls work() for one copy. Adds a failure for CudaError (failed) or TimedOut (hung).
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

  /// Returns call(). Turns a CudaError into CopiesFailed by all_failed().
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

/// Time for pending work to end after the deadline. A device that needs longer hangs.
constexpr std::chrono::seconds settle_time{2};

/// An event that marks the end of a copy.
struct Awaited {
  std::size_t copy;  ///< index of the copy in the call
  EndpointState& on;
  cudaEvent_t event;
};

/// Polls all events until each has happened or failed, and calls `between_polls` between polls. After the deadline,
/// copies that end within settle_time are late; the devices of the others hang. Adds failures to `failures`.
void await_all(
    std::vector<Awaited> events, Deadline deadline, Failures& failures,
    const std::function<void()>& between_polls = [] {});

/// Runs copies behind a gate (Timing::gate). The gate opens when all streams wait at it, which is the common start.
/// CUDA events time the copies. For copies that the driver does not stage (CopyWork::staged). Throws CopiesFailed.
Timeline run_gated(const CopyWork& work, LaunchGate& gate, std::span<const Copy> copies, Failures& failures,
                   Deadline deadline);

/// Runs copies with Timing::in_turn: this thread enqueues one transfer of each copy in turn, and its clock times them.
/// Throws CopiesFailed.
Timeline run_in_turn(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

/// Runs every copy once, for verification. A chain is replaced by a plain copy over its path. Adds failures to
/// `failures`.
void copy_once(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

}  // namespace linkmatrix::cuda
