#pragma once

#include <map>

#include "device/cuda/chains.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/shared_memory.hpp"
#include "ranks/communicator.hpp"
#include "ranks/mpi_transfers.hpp"

namespace linkmatrix::ranks {

/// Transfers by which a device writes into the mapped memory of another rank. Bandwidths use the copy engine. Round
/// trips use a kernel that writes and waits for the answer, without the host.
class DirectTransfers {
 public:
  /// Keeps references. endpoint_state: of this rank's device.
  DirectTransfers(Communicator& mpi, cuda::EndpointState& endpoint_state)
      : mpi_{mpi}, endpoint_state_{endpoint_state} {}

  /// Bytes that a destination needs in addition to the messages.
  static constexpr std::uint64_t extra_bytes = 16;

  /// Unmaps memory of other ranks.
  void forget() { opened_.clear(); }

  /// Sends the handle of `destination` to the other rank, and maps the other rank's destination. generation: number of
  /// the allocation, so that an unchanged destination stays mapped.
  void connect(const Exchange& x, const cuda::SharedMemory& destination, int generation);
  /// See Payload::transfer.

  StepTimes transfer(const Exchange& x, const std::byte* source, const cuda::SharedMemory& destination);

 private:
  struct Opened {
    int generation = 0;
    cuda::SharedMemory memory;
  };

  StepTimes ping_pong(const Exchange& x, const std::byte* source, const cuda::SharedMemory& destination);
  Span write(const Exchange& x, const std::byte* source, int copies);
  void wait(const cuda::Event& event, const Exchange& x) const;
  cudaStream_t stream() { return endpoint_state_.lane(0).stream.get(); }

  Communicator& mpi_;
  cuda::EndpointState& endpoint_state_;
  std::map<int, Opened> opened_;  ///< by rank
  cuda::DeviceMemory state_;      ///< a PingPongState
};

}  // namespace linkmatrix::ranks
