#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linkmatrix {

/// A process that has a context on a device, as a driver lists it.
struct DeviceProcess {
  unsigned pid = 0;
  std::string name;
  std::optional<std::uint64_t> bytes;  ///< of the device's memory
};
/// Nothing: the driver does not tell.
using DeviceProcesses = std::optional<std::vector<DeviceProcess>>;

/// A driver, or its answers in a test.
class DeviceUseSource {
 public:
  virtual ~DeviceUseSource() = default;
  virtual DeviceProcesses processes_on(std::size_t device) = 0;

  /// Bytes of a device's memory that contexts use. Nothing where the driver does not report them apart from other
  /// memory.
  virtual std::optional<std::uint64_t> memory_used_on(std::size_t device) = 0;

  /// Bytes of a device's memory; nothing where the driver does not report them.
  virtual std::optional<std::uint64_t> memory_total_on(std::size_t device) = 0;
};

/// By which number a driver lists this process on a device. A driver outside of this process's namespace numbers
/// processes in another way, and another process may then have the number that this process knows of itself.
struct OwnProcess {
  /// no: all that the driver lists are other processes. absent: this process has no context on the device.
  enum class Listed { yes, no, unknown, absent };
  Listed listed = Listed::unknown;
  unsigned pid = 0;  ///< if listed
};

/// Allocates so many bytes of a device's memory until the returned object is destroyed. Throws std::bad_alloc where so
/// much memory is not left, and anything else where the device fails.
using AllocateStep = std::function<std::shared_ptr<void>(std::uint64_t bytes)>;

/// Bytes of a step: a random multiple of 2 MiB from 4 to 64 MiB. Ranks that share a device draw steps of their own.
std::uint64_t step_bytes();

/// Finds this process in the driver's list of a device on which it has a context. First by the handshake: this process
/// allocates a step of memory and looks whose memory rose by as much. Where no handshake is possible, because the
/// driver reports no memory or none is left, this process is the only one that is new since `before`, or else it has
/// the number `self`. before: the list from before the context was made, of which no process is this one; nothing where
/// it is not known. No process is looked for by its name. Throws what `allocate` throws, except std::bad_alloc.
OwnProcess find_own_process(DeviceUseSource& source, std::size_t device, const DeviceProcesses& before, unsigned self,
                            const AllocateStep& allocate);

/// Whether a process is the server of MPS, behind which are processes that the driver does not list.
bool is_mps_server(const DeviceProcess& process);

}  // namespace linkmatrix
