#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Part of one rank in a step of a pair.
struct Exchange {
  const Order& order;
  Step step;
  int other = 0;
  bool first = true;  ///< whether this rank is the source of the pair, which sends first
  Transport transport = Transport::mpi;
  bool same_node = false;
  int tag = 0;
  Deadline deadline;
};

/// MPI messages between two buffers. Defined as in OSU's micro-benchmarks, for comparison. Bandwidth: a window of
/// sends, acknowledged with 4 bytes. Bidirectional: concurrent windows of sends and receives. Latency: half of a round
/// trip. One-sided: a window of puts and a flush. Unlike OSU, only the flush blocks, so that a dead rank blocks
/// nothing.
class MpiTransfers {
 public:
  explicit MpiTransfers(Communicator& mpi) : mpi_{mpi} {}

  /// See Payload::transfer.
  StepTimes transfer(const Exchange& exchange, std::byte* source, std::byte* destination);

  /// Detaches the destination from the window of one-sided transfers, so that it can be freed.
  void forget();

  /// Exchanges the addresses of one-sided transfers with the other rank.
  void connect(const Exchange& exchange, std::byte* destination, std::uint64_t bytes);

 private:
  void send_window(const Exchange& exchange, std::byte* source, std::byte* destination);
  double bidirectional(const Exchange& exchange, std::byte* source, std::byte* destination);
  StepTimes put(const Exchange& exchange, const std::byte* source);
  StepTimes ping_pong(const Exchange& exchange, std::byte* source, std::byte* destination);

  Communicator& mpi_;
  std::byte* attached_ = nullptr;  ///< memory attached to the window
  MPI_Aint there_ = 0;             ///< address of the other rank's destination
};

}  // namespace linkmatrix::ranks
