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

/// Type of handle by which another process maps device memory.
enum class HandleKind : int {
  fd,      ///< file descriptor of CUDA's virtual memory API: inside a node
  fabric,  ///< fabric handle of the same API: also between nodes with common NVLink; needs an IMEX channel (untested)
  ipc      ///< CUDA IPC: inside a node; plain memory that every library accepts
};

/// Description of shared memory for another process. Trivially copyable.
struct ShareHandle {
  HandleKind kind = HandleKind::fd;
  std::uint64_t bytes = 0;
  DescriptorKey descriptor{};            ///< for fd
  std::array<unsigned char, 64> data{};  ///< for fabric and ipc: handle of the driver
};
static_assert(std::is_trivially_copyable_v<ShareHandle> && sizeof(cudaIpcMemHandle_t) == 64);

/// Minimum size of a shared allocation. Smaller ones would lie in a common block, whose handle would share all of it.
constexpr std::uint64_t least_shared_bytes = 2 * MiB;

/// Device memory that is shared with other processes: created here, or created elsewhere and mapped here.
///
/// fd, fabric: the memory is freed when the last process releases it. ipc: the memory is freed by its creator, so the
/// other processes must release it first.
class SharedMemory {
 public:
  /// Owns no memory.
  SharedMemory() = default;

  /// Allocates at least `bytes` bytes on the current device `ordinal`. where: its label. Throws DeviceError.
  static SharedMemory make(std::uint64_t bytes, HandleKind kind, int ordinal, const std::string& where);

  /// Maps another process's memory for the current device `ordinal`. Throws DeviceError, also if this device cannot
  /// access the memory.
  static SharedMemory open(const ShareHandle& handle, int ordinal, const std::string& where);

  /// Returns the description of memory that this process created. Throws DeviceError.
  ShareHandle share() const;

  std::byte* data() const;
  std::uint64_t bytes() const { return bytes_; }
  explicit operator bool() const { return data() != nullptr; }

 private:
  /// Memory of the virtual memory API, mapped here; with its file descriptor if this process created it.
  class Mapping;

  HandleKind kind_ = HandleKind::fd;
  std::uint64_t bytes_ = 0;
  std::string where_;
  std::shared_ptr<Mapping> mapping_;
  DeviceMemory own_;
  Import opened_;
};

/// Returns why the current device `ordinal` has no handles of this type; nothing if it has. Creates one to find out.
std::optional<std::string> why_no_handles(HandleKind kind, int ordinal);

}  // namespace linkmatrix::cuda
