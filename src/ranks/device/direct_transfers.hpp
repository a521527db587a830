#pragma once

#include <map>

#include "device/cuda/chains.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/shared_memory.hpp"
#include "ranks/communicator.hpp"
#include "ranks/mpi_transfers.hpp"

namespace linkmatrix::ranks {

/// Messages that one rank's device writes into the other's memory itself, which it has mapped: by its copy engine, or
/// where a round trip is timed by a kernel that also waits for the answer, so that no host takes part.
class DirectTransfers {
 public:
  /// Keeps references; the station is this rank's.
  DirectTransfers(Communicator& mpi, cuda::EndpointState& endpoint_state)
      : mpi_{mpi}, endpoint_state_{endpoint_state} {}

  /// Bytes behind the messages' own that a destination needs.
  static constexpr std::uint64_t extra_bytes = 16;

  /// Lets go of the others' memory.
  void forget() { opened_.clear(); }

  /// Tells the other rank of this one's destination, the `generation`-th, and maps the other's.
  void connect(const Exchange& x, const cuda::SharedMemory& destination, int generation);

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
