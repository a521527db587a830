#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "core/units.hpp"
#include "device/cuda/handles.hpp"
#include "device/host/descriptor_server.hpp"

namespace linkmatrix::cuda {

/// Kind of handle by which another process maps a device's memory.
enum class HandleKind : int {
  fd,      ///< a file descriptor of the virtual memory API: inside a node
  fabric,  ///< a fabric handle of it: also between nodes that share NVLink; needs an IMEX channel (not tried by us)
  ipc      ///< CUDA IPC: inside a node, of memory that any library takes
};

/// Description of shared memory for another process: plain data.
struct ShareHandle {
  HandleKind kind = HandleKind::fd;
  std::uint64_t bytes = 0;
  DescriptorKey descriptor{};            ///< of kind fd
  std::array<unsigned char, 64> data{};  ///< of the other kinds, the driver's own
};
static_assert(std::is_trivially_copyable_v<ShareHandle> && sizeof(cudaIpcMemHandle_t) == 64);

/// Smallest allocation to share. Smaller allocations share a piece of memory, and their handles would share it too.
constexpr std::uint64_t least_shared_bytes = 2 * MiB;

/// Memory of a device that other processes can map, or another process' mapped here. Made by plain allocations: neither
/// managed nor multicast.
///
/// Its bytes live until the last process has let go of them, but those of kind ipc die with their maker: close all
/// others before it.
class SharedMemory {
 public:
  /// None.
  SharedMemory() = default;

  /// Allocates at least `bytes` on the current device `ordinal`. Throws DeviceError.
  static SharedMemory make(std::uint64_t bytes, HandleKind kind, int ordinal, const std::string& where);

  /// Another process' memory, for accesses of the current device, which is `ordinal`. Throws DeviceError, also where
  /// this device has no access to that one's memory.
  static SharedMemory open(const ShareHandle& handle, int ordinal, const std::string& where);

  /// Returns the description of memory of this process for other processes. Throws DeviceError.
  ShareHandle share() const;

  std::byte* data() const;
  std::uint64_t bytes() const { return bytes_; }
  explicit operator bool() const { return data() != nullptr; }

 private:
  /// Memory of the virtual memory API and its mapping; with its descriptor if this process created it.
  class Mapping;

  HandleKind kind_ = HandleKind::fd;
  std::uint64_t bytes_ = 0;
  std::string where_;
  std::shared_ptr<Mapping> mapping_;
  DeviceMemory own_;
  Import opened_;
};

/// Returns why the current device, `ordinal`, has no handles of this type, by creating one; nothing if it has handles.
std::optional<std::string> why_no_handles(HandleKind kind, int ordinal);

}  // namespace linkmatrix::cuda
