#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// A step of a pair, as seen by one of its ranks.
struct Exchange {
  const Order& order;
  Step step;
  int other = 0;      ///< the other rank
  bool first = true;  ///< whether this rank is the source of the pair; it sends first
  Transport transport = Transport::mpi;
  bool same_node = false;
  int tag = 0;
  Deadline deadline;
};

/// Transfers between two ranks by MPI, as in OSU's micro-benchmarks:
///
/// - bandwidth: a window of sends, acknowledged with 4 bytes (osu_bw)
/// - bidirectional: concurrent windows of sends and receives (osu_bibw)
/// - latency: half of a round trip (osu_latency)
/// - one-sided: a window of puts and a flush (osu_put_bw). Only the flush blocks, so a dead rank blocks nothing else.
class MpiTransfers {
 public:
  explicit MpiTransfers(Communicator& mpi) : mpi_{mpi} {}

  /// See Payload::transfer.
  StepTimes transfer(const Exchange& exchange, std::byte* source, std::byte* destination);

  /// Detaches the destination from the window of one-sided transfers. Called before the memory is freed.
  void forget();

  /// Exchanges addresses with the other rank, for one-sided transfers.
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
