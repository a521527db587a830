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
/// The processes with a context on a device; nothing: the driver does not report them.
using DeviceProcesses = std::optional<std::vector<DeviceProcess>>;

/// Reports the use of devices, by index: a driver, or simulated answers in a test.
class DeviceUseSource {
 public:
  virtual ~DeviceUseSource() = default;
  virtual DeviceProcesses processes_on(std::size_t device) = 0;

  /// Returns the bytes of device memory used by contexts; nothing if the driver does not report them separately.
  virtual std::optional<std::uint64_t> memory_used_on(std::size_t device) = 0;

  /// Returns the size of the device memory in bytes; nothing if unknown.
  virtual std::optional<std::uint64_t> memory_total_on(std::size_t device) = 0;
};

/// How a driver lists this process on a device. A driver outside the process's PID namespace uses other numbers, and
/// may list another process with this process's number.
struct OwnProcess {
  /// no: the driver lists only other processes. absent: this process has no context on the device.
  enum class Listed { yes, no, unknown, absent };
  Listed listed = Listed::unknown;
  unsigned pid = 0;  ///< number in the driver's list, if `yes`
};

/// Allocates `bytes` bytes of device memory until the returned object is destroyed. Throws std::bad_alloc if the memory
/// is too small, other exceptions if the device fails.
using AllocateStep = std::function<std::shared_ptr<void>(std::uint64_t bytes)>;

/// Returns a random multiple of 2 MiB from 4 to 64 MiB, so that ranks on one device usually draw different sizes.
std::uint64_t step_bytes();

/// Finds this process in the driver's list of a device. This process must have a context on the device.
///
/// 1. Handshake: allocate memory, and find the process whose memory grew by the same amount.
/// 2. If that is impossible: the only process that is missing in `before`, or the process with the number `self`.
///
/// before: the list before the context was created; nothing: unknown. Throws the exceptions of `allocate`, except
/// std::bad_alloc.
OwnProcess find_own_process(DeviceUseSource& source, std::size_t device, const DeviceProcesses& before, unsigned self,
                            const AllocateStep& allocate);

/// Returns whether a process is an MPS server. The driver does not list its clients.
bool is_mps_server(const DeviceProcess& process);

}  // namespace linkmatrix
