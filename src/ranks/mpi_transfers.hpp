#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// One rank's part in a step of a pair: with whom, and in which role.
struct Exchange {
  const Order& order;
  Step step;
  int other = 0;
  bool first = true;  ///< the pair's source: it sends, or begins
  Transport transport = Transport::mpi;
  bool same_node = false;
  int tag = 0;
  Deadline deadline;
};

/// Messages of MPI from one address to another. Definitions of OSU's micro-benchmarks, so that figures can stand beside
/// theirs: bandwidth, a window of sends that the receiver answers with 4 bytes; both ways, a window of sends and one of
/// receives at once; latency, half of a round trip; one-sided, a window of puts and a flush. One difference: no call
/// but the flush blocks, so that a dead rank holds up nobody.
class MpiTransfers {
 public:
  explicit MpiTransfers(Communicator& mpi) : mpi_{mpi} {}

  /// As Payload::transfer.
  StepTimes transfer(const Exchange& exchange, std::byte* source, std::byte* destination);

  /// Takes the destination out of the window of one-sided transfers: it may be freed from now on.
  void forget();

  /// Tells the other rank where it may put its data, and learns where it may put its own.
  void connect(const Exchange& exchange, std::byte* destination, std::uint64_t bytes);

 private:
  void send_window(const Exchange& exchange, std::byte* source, std::byte* destination);
  double bidirectional(const Exchange& exchange, std::byte* source, std::byte* destination);
  StepTimes put(const Exchange& exchange, const std::byte* source);
  StepTimes ping_pong(const Exchange& exchange, std::byte* source, std::byte* destination);

  Communicator& mpi_;
  std::byte* attached_ = nullptr;  ///< to the window
  MPI_Aint there_ = 0;             ///< where the other rank's destination begins
};

}  // namespace linkmatrix::ranks
