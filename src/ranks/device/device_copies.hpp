#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "device/cuda/copy_work.hpp"
#include "device/cuda/launch_gate.hpp"
#include "ranks/device/device_messages.hpp"

namespace linkmatrix::ranks {

/// Executes the orders of rank 0's DeviceBackend on one rank, with the streams, gates and kernels of the cuda back end.
/// The endpoint states of other ranks contain only their mapped buffers.
class DeviceCopies {
 public:
  /// rank, ranks: number of this rank, and number of all ranks. device: endpoint of this rank.
  DeviceCopies(int rank, int ranks, const Endpoint& device);

  /// Executes one order. Throws BadInput, DeviceError and TimedOut. After DeviceError or TimedOut the object must not
  /// be used again.
  DeviceAnswer perform(const DeviceOrder& order);

 private:
  cuda::EndpointState& own() { return endpoint_states_[static_cast<std::size_t>(rank_)]; }
  cuda::Buffer& buffer(const BufferName& name);
  void check_free_memory(std::uint64_t bytes);
  void reserve(const DeviceOrder& order, DeviceAnswer& answer);
  void open(const DeviceOrder& order, DeviceAnswer& answer);
  void fill(const DeviceOrder& order, Deadline deadline);
  void transfer(const DeviceOrder& order, Deadline deadline);
  void compare(const DeviceOrder& order, Deadline deadline, DeviceAnswer& answer);
  void set_up_chains(const DeviceOrder& order, Deadline deadline);
  void arm(const DeviceOrder& order, Deadline deadline);
  void enqueue_all(const DeviceOrder& order);
  void run(const DeviceOrder& order, Deadline deadline, DeviceAnswer& answer);
  CopyTime time(const cuda::PlacedCopy& placed, double enqueue_seconds) const;
  void wait(std::span<const cuda::PlacedCopy> placed, Deadline deadline) const;
  std::vector<Copy> own_copies(const DeviceOrder& order, std::vector<std::size_t>& numbers) const;

  int rank_;
  std::vector<cuda::EndpointState> endpoint_states_;  ///< by rank
  cuda::CopyWork work_{endpoint_states_, {}};
  cuda::LaunchGate gate_;
  std::vector<Copy> copies_;          ///< copies of this device behind the gate
  std::vector<std::size_t> numbers_;  ///< for each of `copies_`: its number in the run
  std::vector<cuda::PlacedCopy> placed_;
  std::vector<double> enqueue_seconds_;
  bool held_ = false;   ///< whether all streams waited at the gate before it opened
  bool armed_ = false;  ///< whether copies are enqueued behind the gate
};

}  // namespace linkmatrix::ranks
