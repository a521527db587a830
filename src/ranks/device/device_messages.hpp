#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/pattern.hpp"
#include "device/backend.hpp"
#include "device/cuda/shared_memory.hpp"
#include "ranks/packing.hpp"

namespace linkmatrix::ranks {

// Messages between rank 0 and the ranks about copies between their devices, serialized by Packer.

/// Tasks, in the order of use.
enum class DeviceTask : int {
  close,     ///< unmap the named buffers of other ranks, which will be reallocated
  reserve,   ///< allocate the named buffers; the answer contains their handles
  open,      ///< map the named buffers of other ranks
  fill,      ///< fill the sources with the pattern, and poison the destinations
  transfer,  ///< make the copies of this rank's device once
  compare,   ///< compare the destinations
  arm,       ///< enqueue the copies behind the gate
  run        ///< open the gate and return the times of the copies
};

enum class Role : int { source, destination };

/// Identifies a buffer. endpoint: number of its rank.
struct BufferName {
  int endpoint = 0;
  Role role = Role::source;
  int slot = 0;
  auto operator<=>(const BufferName&) const = default;
};

struct NamedBuffer {
  BufferName name;
  std::uint64_t bytes = 0;
  cuda::ShareHandle handle{};  ///< handle of the allocated buffer
};

/// A copy and its number in the run.
struct NumberedCopy {
  std::size_t number = 0;
  Copy copy;
};

struct DeviceOrder {
  DeviceTask task = DeviceTask::run;
  cuda::HandleKind kind = cuda::HandleKind::fd;
  std::uint64_t seed = 0;
  double open_at = 0;     ///< time of opening the gate, on the node's steady clock in seconds; 0: immediately
  double time_limit = 0;  ///< seconds
  std::vector<NumberedCopy> copies{};  ///< copies in which this rank takes part
  std::vector<NamedBuffer> buffers{};
};

/// Result of a copy in which this rank takes part.
struct CopyReport {
  std::size_t number = 0;
  CopyTime time{};
  PatternCheck check{};
};

/// A buffer of another rank that this rank's device cannot access.
struct UnopenedBuffer {
  BufferName name;
  std::array<char, 160> why{};
};

struct DeviceAnswer {
  double opened = 0;       ///< time of opening, on the node's steady clock in seconds
  double uncertainty = 0;  ///< LaunchGate::uncertainty
  bool timed_out = false;  ///< whether the gate or a flag timed out, so that times are invalid
  std::vector<CopyReport> copies{};
  std::vector<NamedBuffer> buffers{};
  std::vector<UnopenedBuffer> unopened{};
};

void fields(auto& archive, Is<DeviceOrder> auto& order) {
  archive(order.task, order.kind, order.seed, order.open_at, order.time_limit, order.copies, order.buffers);
}

void fields(auto& archive, Is<DeviceAnswer> auto& answer) {
  archive(answer.opened, answer.uncertainty, answer.timed_out, answer.copies, answer.buffers, answer.unopened);
}

}  // namespace linkmatrix::ranks
