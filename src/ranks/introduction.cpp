#include "ranks/introduction.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "core/units.hpp"
#include "device/host/adapters.hpp"
#include "device/host/available_memory.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/node_facts.hpp"
#include "ranks/facts.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double startup_seconds = 60;  // until all ranks are there

/// What a rank tells all others, as bytes.
struct Neighbour {
  std::size_t node = 0;  ///< of its name and boot
  unsigned pid = 0;
  cpu_set_t processors{};  ///< on which it may run
};

Neighbour this_process() {
  Neighbour own{std::hash<std::string>()(host_facts().name + "/" + boot_id()), static_cast<unsigned>(::getpid()), {}};
  CPU_ZERO(&own.processors);
  ::sched_getaffinity(0, sizeof(own.processors), &own.processors);
  return own;
}

bool share_a_processor(const cpu_set_t& some, const cpu_set_t& others) {
  cpu_set_t both;
  CPU_AND(&both, &some, &others);
  return CPU_COUNT(&both) > 0;
}

std::string late_start(const Communicator& mpi) {
  return "not all of the " + std::to_string(mpi.size()) + " ranks answered within " +
         std::to_string(static_cast<int>(startup_seconds)) + " s of their start";
}

/// What rank 0 tells a rank of those of its node, as bytes.
struct Neighbourhood {
  int number = 0;
  bool is_crowded = false;
  std::array<unsigned, 64> pids{};  ///< 0: none
};

/// Of each rank, from what all have told.
std::vector<Neighbourhood> neighbourhoods(const std::vector<Neighbour>& all) {
  std::map<std::size_t, std::vector<std::size_t>> of_node;
  for (std::size_t rank = 0; rank < all.size(); ++rank) of_node[all[rank].node].push_back(rank);
  std::vector<Neighbourhood> found(all.size());
  for (const auto& [node, ranks] : of_node)
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      Neighbourhood& one = found[ranks[k]];
      const cpu_set_t& own = all[ranks[k]].processors;
      one.number = static_cast<int>(k);
      one.is_crowded = std::ranges::count_if(ranks, [&](std::size_t other) {
                         return share_a_processor(all[other].processors, own);
                       }) > CPU_COUNT(&own);
      for (std::size_t n = 0; n < std::min(ranks.size(), one.pids.size()); ++n) one.pids[n] = all[ranks[n]].pid;
    }
  return found;
}

/// The ranks of this one's node. All ranks together, by way of rank 0: of thousands not each knows each. Throws
/// TimedOut.
NodeRanks ranks_of_node(Communicator& mpi) {
  const Neighbour own = this_process();
  std::vector<Neighbour> all(mpi.rank() == 0 ? static_cast<std::size_t>(mpi.size()) : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Igather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
            mpi.rank(), "MPI_Igather");
  mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
  const std::vector<Neighbourhood> each = neighbourhoods(all);
  Neighbourhood mine;
  check_mpi(
      MPI_Iscatter(each.data(), sizeof(mine), MPI_BYTE, &mine, sizeof(mine), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
      mpi.rank(), "MPI_Iscatter");
  mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
  NodeRanks ranks{mine.number, {}, mine.is_crowded};
  for (const unsigned pid : mine.pids)
    if (pid != 0) ranks.pids.push_back(pid);
  return ranks;
}

std::unique_ptr<Payload> make_payload(Communicator& mpi, const NetworkOptions& options, int number, RankFacts& own) {
  if (options.memory == Memory::host)
    return std::make_unique<HostPayload>(mpi, options.huge_pages,
                                         options.make_answerer ? options.make_answerer(mpi) : Answerer{});
  if (!options.devices.make_payload)
    throw BadInput("--memory device: this p2p_matrix was built without it: configure with -DLINKMATRIX_CUDA=ON");
  return options.devices.make_payload(mpi, number, own);
}

/// Network adapters near the memory that the rank measures, or the one that src/rdma/adapter_rank.sh has bound it to.
void put_adapters(RankFacts& own) {
  std::map<std::string, int> all;  // adapter → its NUMA node
  for (const AdapterPort& port : fabric_ports()) all.emplace(port.name, port.numa);
  own.adapters = static_cast<int>(all.size());
  std::vector<std::string> near;
  for (const auto& [name, numa] : all)
    if (numa == own.numa || numa < 0 || own.numa < 0) near.push_back(name);
  const char* const bound = std::getenv("LINKMATRIX_ADAPTER");
  put(own.nics, bound != nullptr ? bound : join(near, ","));
}

}  // namespace

void tell_all(Communicator& mpi, LifelineAddress& address) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&address, sizeof(address), MPI_BYTE, 0, MPI_COMM_WORLD, &request), mpi.rank(), "MPI_Ibcast");
  mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
}

Introduction introduce(Communicator& mpi, const NetworkOptions& options) {
  Introduction mine;
  mine.ranks = ranks_of_node(mpi);
  RankFacts& own = mine.facts;
  put(own.node, host_facts().name);
  put(own.boot, boot_id());
  put(own.version, std::string(program_version) + " of " + compiler_version());
  put(own.options, options.options);
  put(own.network, mpi_network());
  put(own.device, "rank" + std::to_string(mpi.rank()));
  put(own.model, "host memory");
  own.available = available_memory();
  own.numa = own_numa();
  own.cuda_aware = mpi_is_cuda_aware();
  try {
    mine.payload = make_payload(mpi, options, mine.ranks.number, own);
  } catch (const DeviceError& e) {  // what the others measure needs it not
    put(own.no_device, e.what());
    mine.payload = std::make_unique<HostPayload>(mpi, false);
  } catch (const std::exception& e) {
    put(own.complaint, e.what());
    mine.payload = std::make_unique<HostPayload>(mpi, false);
  }
  put_adapters(own);
  return mine;
}

std::vector<RankFacts> gather(Communicator& mpi, const RankFacts& own) {
  std::vector<RankFacts> facts(mpi.rank() == 0 ? static_cast<std::size_t>(mpi.size()) : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Igather(&own, sizeof(own), MPI_BYTE, facts.data(), sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
            mpi.rank(), "MPI_Igather");
  mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
  return facts;
}

std::string label_of(const RankFacts& rank) { return text_of(rank.node) + ":" + text_of(rank.device); }

}  // namespace linkmatrix::ranks
