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

/// What rank 0 and the ranks say to each other of copies between their devices: plain data and lists of it, sent as
/// bytes between programs of one build.

/// In the order in which a matrix needs them: buffers are made and opened, copies verified, and timed.
enum class DeviceTask : int {
  close,     ///< let go of the named buffers of other ranks, which are going to be made anew
  reserve,   ///< make the named buffers; the answer offers them
  open,      ///< map the named buffers of other ranks
  fill,      ///< the pattern into the sources here, and the destinations here spoiled
  transfer,  ///< make the copies that this rank's device makes, once
  compare,   ///< look at the destinations here
  arm,       ///< put the copies into streams that the gate holds
  run        ///< open the gate and say when the copies ran
};

enum class Role : int { source, destination };

/// A buffer of an endpoint; endpoints are numbered as their ranks are.
struct BufferName {
  int endpoint = 0;
  Role role = Role::source;
  int slot = 0;
  auto operator<=>(const BufferName&) const = default;
};

struct NamedBuffer {
  BufferName name;
  std::uint64_t bytes = 0;
  cuda::ShareHandle handle{};  ///< once it has been made
};

/// A copy and its number among those of its run.
struct NumberedCopy {
  std::size_t number = 0;
  Copy copy;
};

struct DeviceOrder {
  DeviceTask task = DeviceTask::run;
  cuda::HandleKind kind = cuda::HandleKind::fd;
  std::uint64_t seed = 0;
  double open_at = 0;                  ///< seconds on the node's steady clock; 0: at once
  double time_limit = 0;               ///< seconds
  std::vector<NumberedCopy> copies{};  ///< those that the rank has a part in
  std::vector<NamedBuffer> buffers{};
};

/// Of a copy that this rank's device made, or that arrived here.
struct CopyReport {
  std::size_t number = 0;
  CopyTime time{};
  PatternCheck check{};
};

/// Another rank's buffer that this rank's device cannot reach.
struct UnopenedBuffer {
  BufferName name;
  std::array<char, 160> why{};
};

struct DeviceAnswer {
  double opened = 0;       ///< when the gate was: seconds on the node's steady clock
  double uncertainty = 0;  ///< seconds by which its streams may have seen that at different times
  bool timed_out = false;  ///< the gate, or a flag: the times say nothing
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
