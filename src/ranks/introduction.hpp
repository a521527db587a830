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

/// Facts and memory of a rank at its start.
struct Introduction {
  RankFacts facts;
  NodeRanks ranks;
  std::unique_ptr<Payload> payload;  ///< memory of the rank; unused if the rank cannot take part
  GpuPoll gpus;  ///< poll of the node's GPUs; only for the first rank of a node that measures host memory
};

/// Broadcasts the address of rank 0. Collective; the first communication of a job. Throws TimedOut.
void send_to_all(Communicator& mpi, HeartbeatAddress& address);

/// Creates the memory of this rank, or records in its facts why this is impossible.
Introduction introduce(Communicator& mpi, const NetworkOptions& options);

/// Gathers the facts of all ranks, by rank number, at rank 0; returns an empty list elsewhere. Collective. Throws
/// TimedOut.
std::vector<RankFacts> gather(Communicator& mpi, const RankFacts& own);

/// Returns the label of a rank in rows and columns: "n3:gpu0".
std::string label_of(const RankFacts& rank);

}  // namespace linkmatrix::ranks
