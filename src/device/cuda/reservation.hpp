#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/cuda/endpoint_state.hpp"

namespace linkmatrix::cuda {

/// Determines the buffers that copies need, and whether memory suffices. Checked before any allocation, because
/// page-locking takes about a second per few GiB.
class Reservation {
 public:
  Reservation(std::span<const Copy> copies, std::vector<EndpointState>& endpoint_states);

  /// Returns the bytes that an endpoint must allocate in addition to its present buffers.
  std::uint64_t missing(int endpoint) const;

  /// Returns the free bytes of a device.
  using FreeMemory = std::function<std::uint64_t(const EndpointState&)>;
  /// Returns "; process 12 (python3) holds 139.2 GiB", or "".
  using Holders = std::function<std::string(const EndpointState&)>;

  /// Returns a reason for each device that cannot allocate its buffers. Throws BadInput if no device can, or if host
  /// memory is insufficient. free_on_host: bytes.
  std::map<int, std::string> shortages(const FreeMemory& free, std::uint64_t free_on_host,
                                       const Holders& holders) const;

  /// Allocates the buffers of one endpoint. Frees replaced buffers first; if `kept` is not null, moves them there
  /// instead.
  void make(int endpoint, HostMemoryKind kind, std::vector<Buffer>* kept) const;

 private:
  enum class Role { source, destination };
  struct BufferKey {
    int endpoint;
    Role role;
    int slot;
    auto operator<=>(const BufferKey&) const = default;
  };
  EndpointState& endpoint_state(int endpoint) const { return endpoint_states_[static_cast<std::size_t>(endpoint)]; }
  /// Returns the bytes of the buffer at a key; 0 without a buffer.
  std::uint64_t has(const BufferKey& key) const;

  std::vector<EndpointState>& endpoint_states_;
  std::map<BufferKey, std::uint64_t> needs_;
};

}  // namespace linkmatrix::cuda
