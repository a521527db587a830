#include "p2p/testcases.hpp"

namespace linkmatrix {
namespace {

constexpr TestCase of_ranks[]{
    {.name = "rank_to_rank_bandwidth_mpi",
     .description = "under mpirun: each pair of ranks, a window of messages",
     .pattern = Pattern::pairs,
     .engine = Engine::mpi,
     .direction = Direction::write},
    {.name = "rank_to_rank_bidirectional_mpi",
     .description = "under mpirun: each pair of ranks, bidirectional, a window of messages per direction, sum",
     .pattern = Pattern::pairs,
     .metric = Metric::bidirectional,
     .engine = Engine::mpi,
     .direction = Direction::write},
    {.name = "rank_to_rank_latency_mpi",
     .description = "under mpirun: half of the round trip of a ping-pong, 16 bytes by default",
     .pattern = Pattern::pairs,
     .metric = Metric::latency,
     .engine = Engine::mpi,
     .direction = Direction::write},
    {.name = "rank_to_rank_put_bandwidth_mpi",
     .description = "under mpirun: each pair of ranks, a window of one-sided puts and a flush",
     .pattern = Pattern::pairs,
     .engine = Engine::mpi,
     .direction = Direction::write,
     .one_sided = true},
    {.name = "rank_to_rank_put_bidirectional_mpi",
     .description = "under mpirun: each pair of ranks, bidirectional, a window of one-sided puts and a flush, sum",
     .pattern = Pattern::pairs,
     .metric = Metric::bidirectional,
     .engine = Engine::mpi,
     .direction = Direction::write,
     .one_sided = true},
    {.name = "rank_to_rank_put_latency_mpi",
     .description = "under mpirun: each pair of ranks, a one-sided put of 16 bytes (default) and a flush",
     .pattern = Pattern::pairs,
     .metric = Metric::latency,
     .engine = Engine::mpi,
     .direction = Direction::write,
     .one_sided = true},
    {.name = "node_to_node_bandwidth_mpi",
     .description = "under mpirun: each pair of nodes, all their ranks concurrently, total; and the message rate",
     .pattern = Pattern::nodes,
     .engine = Engine::mpi,
     .direction = Direction::write},
    {.name = "node_to_node_bidirectional_mpi",
     .description = "under mpirun: each pair of nodes, all their ranks concurrently, bidirectional, sum",
     .pattern = Pattern::nodes,
     .metric = Metric::bidirectional,
     .engine = Engine::mpi,
     .direction = Direction::write},
    {.name = "node_to_node_latency_mpi",
     .description = "under mpirun: each pair of nodes, half of the round trip of a ping-pong, mean over all their "
                    "concurrent ranks",
     .pattern = Pattern::nodes,
     .metric = Metric::latency,
     .engine = Engine::mpi,
     .direction = Direction::write},
};

}  // namespace

std::span<const TestCase> rank_testcases() { return of_ranks; }

}  // namespace linkmatrix
