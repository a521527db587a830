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

/// What a rank says of itself, and its memory.
struct Introduction {
  RankFacts facts;
  NodeRanks ranks;
  std::unique_ptr<Payload> payload;  ///< of a rank that cannot take part, one that is not used
  GpuPoll gpus;                      ///< of the first rank of a node that measures host memory
};

/// What rank 0 says to all others before anything else. All ranks together. Throws TimedOut.
void tell_all(Communicator& mpi, HeartbeatAddress& address);

/// Of this rank: makes its memory, or says in its facts why it cannot.
Introduction introduce(Communicator& mpi, const NetworkOptions& options);

/// Every rank's facts, by rank, at rank 0; nothing elsewhere. All ranks together. Throws TimedOut.
std::vector<RankFacts> gather(Communicator& mpi, const RankFacts& own);

/// What rows and columns call a rank: "n3:gpu0".
std::string label_of(const RankFacts& rank);

}  // namespace linkmatrix::ranks
