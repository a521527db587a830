#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linkmatrix {

/// A process with a context on a device, as listed by a driver.
struct DeviceProcess {
  unsigned pid = 0;
  std::string name;
  std::optional<std::uint64_t> bytes;  ///< bytes of device memory
};
/// The listed processes; nothing: the driver does not report them.
using DeviceProcesses = std::optional<std::vector<DeviceProcess>>;

/// A driver, or simulated answers in a test.
class DeviceUseSource {
 public:
  virtual ~DeviceUseSource() = default;
  virtual DeviceProcesses processes_on(std::size_t device) = 0;

  /// Returns the device memory used by contexts in bytes. Nothing if the driver does not report it separately.
  virtual std::optional<std::uint64_t> memory_used_on(std::size_t device) = 0;

  /// Returns the size of the device memory in bytes; nothing if unknown.
  virtual std::optional<std::uint64_t> memory_total_on(std::size_t device) = 0;
};

/// How a driver lists this process on a device. A driver outside this process's namespace uses other numbers, and
/// another process may have this process's number.
struct OwnProcess {
  /// no: all listed processes are other processes. absent: this process has no context on the device.
  enum class Listed { yes, no, unknown, absent };
  Listed listed = Listed::unknown;
  unsigned pid = 0;  ///< process number, if listed
};

/// Allocates `bytes` bytes of device memory until the returned object is destroyed. Throws std::bad_alloc if the memory
/// is too small, other exceptions if the device fails.
using AllocateStep = std::function<std::shared_ptr<void>(std::uint64_t bytes)>;

/// Returns a random multiple of 2 MiB from 4 to 64 MiB. Ranks that share a device draw different sizes.
std::uint64_t step_bytes();

/// Finds this process in the driver's list of a device with a context of this process. First by handshake: it allocates
/// memory and searches the process whose memory grew by the same amount. If that is impossible, this process is the
/// only one that is new since `before`, or the one with the number `self`. before: the list before the context was
/// created; nothing: unknown. Names of processes are never used. Throws what `allocate` throws, except std::bad_alloc.
OwnProcess find_own_process(DeviceUseSource& source, std::size_t device, const DeviceProcesses& before, unsigned self,
                            const AllocateStep& allocate);

/// Returns whether a process is an MPS server, whose clients the driver does not list.
bool is_mps_server(const DeviceProcess& process);

}  // namespace linkmatrix
