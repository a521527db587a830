#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ranks/communicator.hpp"
#include "ranks/heartbeat.hpp"
#include "ranks/messages.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"
#include "ranks/rank_poll.hpp"

namespace linkmatrix::ranks {

/// Facts and memory of this rank at its start.
struct Introduction {
  RankFacts facts;
  NodeRanks ranks;
  std::unique_ptr<Payload> payload;  ///< memory of the rank; unused if the rank cannot take part
  GpuPoll gpus;  ///< poll of the node's GPUs; empty except on the first rank of a node that measures host memory
};

/// Broadcasts the address of rank 0. Collective; the first communication of a job. address: set on rank 0, received on
/// the others. Throws TimedOut.
void send_to_all(Communicator& mpi, HeartbeatAddress& address);

/// Collects the facts of this rank and creates its memory. If that fails, sets RankFacts::complaint. Collective.
Introduction introduce(Communicator& mpi, const NetworkOptions& options);

/// Gathers the facts of all ranks. Returns them by rank on rank 0, and an empty list on the others. Collective. Throws
/// TimedOut.
std::vector<RankFacts> gather(Communicator& mpi, const RankFacts& own);

/// Returns the label of a rank in rows and columns: "n3:gpu0".
std::string label_of(const RankFacts& rank);

}  // namespace linkmatrix::ranks
