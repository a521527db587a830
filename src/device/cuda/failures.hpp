#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/copy_work.hpp"

namespace linkmatrix::cuda {

/// Gathers what goes wrong with the copies of one call, finds out which devices are lost with them, and tells it as
/// CopiesFailed.
class Failures {
 public:
  Failures(const CopyWork& work, std::span<const Copy> copies, std::vector<EndpointState>& endpoint_states)
      : work_{work}, copies_{copies}, endpoint_states_{endpoint_states} {}

  bool empty() const { return failures_.empty(); }

  /// Copies of devices that were lost before.
  void refuse_lost();
  /// A device works, but has not what these copies need: memory. Others may need less.
  void lacks(const EndpointState& device, const std::string& why, LossKind loss) {
    fail_all(device, CellStatus::error, why, loss);
  }
  /// A call of the copy failed. Every device of all copies is asked whether it still works.
  void failed(std::size_t copy, const std::string& why);
  /// Something failed that all have in common; the copies of a device that it broke are to blame, else all.
  void failed_together(const std::string& why);
  /// The copy did not end, and neither does its device.
  void hung(std::size_t copy, EndpointState& device);
  /// The copy was not done by the deadline, but its device works.
  void late(std::size_t copy);

  /// Throws CopiesFailed if there is any.
  void raise() const;

  /// Does what is to be done for one copy on a device: what fails there, or hangs, is told here.
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

  /// Returns what the call returns. What fails in it without a copy of its own ends as CopiesFailed.
  template <class Call>
  auto guard_all(const Call& call) {
    try {
      return call();
    } catch (const CudaError& e) {
      failed_together(e.what());
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

/// What is under way when the time is over ends within this, or its device hangs: no single copy takes as long.
constexpr std::chrono::seconds settle_time{2};

/// An event that a copy must come to.
struct Awaited {
  std::size_t copy;  ///< which of the call
  EndpointState& on;
  cudaEvent_t event;
};

/// Looks at all events in turn until each has happened or failed, and calls `meanwhile` all the time. Where the
/// deadline comes first, copies that end soon after it are late, and the others' devices hang.
void await_all(
    std::vector<Awaited> events, Deadline deadline, Failures& failures, const std::function<void()>& meanwhile = [] {});

}  // namespace linkmatrix::cuda
