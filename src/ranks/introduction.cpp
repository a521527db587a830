#include "ranks/introduction.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/disturbances.hpp"
#include "core/units.hpp"
#include "device/host/adapters.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"
#include "ranks/facts.hpp"
#ifdef LINKMATRIX_CUDA
#include "device/cuda/device_use.hpp"
#endif

namespace linkmatrix::ranks {
namespace {

constexpr double startup_seconds = 60;  // time limit for all ranks to answer

constexpr std::size_t most_listed = 4096;  // maximum ranks per system; cloned virtual machines look like one system

/// Message of a rank to rank 0, as bytes.
struct Neighbour {
  std::size_t node = 0;  ///< hash of node name and boot identifier
  std::size_t system =
      0;  ///< of its boot alone: hosts of a test cluster may share one, and then see each other's ranks
  unsigned pid = 0;
};

Neighbour this_process() {
  const std::string name = host_name(), boot = boot_id();
  const std::hash<std::string> hash;
  return {hash(name + "/" + boot), hash(boot.empty() ? name : boot), static_cast<unsigned>(::getpid())};
}

std::string late_start(const Communicator& mpi) {
  return "not all of the " + std::to_string(mpi.size()) + " ranks answered within " +
         std::to_string(static_cast<int>(startup_seconds)) + " s of their start";
}

/// Message of rank 0 to a rank about the ranks of its node. Process numbers follow.
struct Neighbourhood {
  int number = 0, processes = 0;
};

/// Returns the message to each rank, with the process numbers of the ranks on its system.
std::pair<std::vector<Neighbourhood>, std::vector<std::vector<unsigned>>> neighbourhoods(
    const std::vector<Neighbour>& all) {
  std::map<std::size_t, std::vector<std::size_t>> of_node, of_system;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    of_node[all[rank].node].push_back(rank), of_system[all[rank].system].push_back(rank);
  std::vector<Neighbourhood> found(all.size());
  std::vector<std::vector<unsigned>> pids(all.size());
  for (const auto& [node, ranks] : of_node)
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const std::size_t rank = ranks[k];
      const auto& together = of_system[all[rank].system];
      for (const std::size_t one : together.size() > most_listed ? ranks : together) pids[rank].push_back(all[one].pid);
      found[rank] = {static_cast<int>(k), static_cast<int>(pids[rank].size())};
    }
  return {std::move(found), std::move(pids)};
}

/// Returns the ranks on this rank's node. Collective. Rank 0 distributes the lists, so that not every rank needs the
/// facts of thousands of ranks. Throws TimedOut.
NodeRanks ranks_of_node(Communicator& mpi) {
  const Neighbour own = this_process();
  std::vector<Neighbour> all(mpi.rank() == 0 ? static_cast<std::size_t>(mpi.size()) : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto wait_for = [&](int code, const char* call) {
    check_mpi(code, mpi.rank(), call);
    mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
  };
  wait_for(MPI_Igather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
           "MPI_Igather");
  const auto [each, processes] = neighbourhoods(all);
  Neighbourhood mine;
  wait_for(
      MPI_Iscatter(each.data(), sizeof(mine), MPI_BYTE, &mine, sizeof(mine), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
      "MPI_Iscatter");
  NodeRanks ranks{mine.number, std::vector<unsigned>(static_cast<std::size_t>(mine.processes))};
  std::vector<unsigned> listed;
  std::vector<int> counts, firsts;
  for (const std::vector<unsigned>& some : processes) {
    counts.push_back(static_cast<int>(some.size())), firsts.push_back(static_cast<int>(listed.size()));
    listed.insert(listed.end(), some.begin(), some.end());
  }
  wait_for(MPI_Iscatterv(listed.data(), counts.data(), firsts.data(), MPI_UNSIGNED, ranks.pids.data(), mine.processes,
                         MPI_UNSIGNED, 0, MPI_COMM_WORLD, &request),
           "MPI_Iscatterv");
  return ranks;
}

std::unique_ptr<Payload> make_payload(Communicator& mpi, const NetworkOptions& options, int number, RankFacts& own) {
  if (options.memory == Memory::host)
    return std::make_unique<HostPayload>(mpi, options.huge_pages,
                                         options.make_answerer ? options.make_answerer(mpi) : Answerer{});
  if (!options.devices.make_payload)
    throw BadInput("--memory device: this p2p_matrix was built without CUDA: configure with -DLINKMATRIX_CUDA=ON");
  return options.devices.make_payload(mpi, number, own);
}

/// Returns the poll of a node's GPUs, if its ranks poll no device. Empty except on the first rank of a node.
GpuPoll gpu_poll([[maybe_unused]] const NetworkOptions& options, [[maybe_unused]] const NodeRanks& ranks) {
#ifdef LINKMATRIX_CUDA
  if (options.memory == Memory::host && ranks.number == 0)
    return
        [gpus = std::make_shared<cuda::NodeGpus>()](Activity& look, const std::string& node) { gpus->add(look, node); };
#endif
  return {};
}

/// Returns the network adapters nearest to the rank's memory, or the adapter that src/rdma/adapter_rank.sh assigned.
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

void send_to_all(Communicator& mpi, HeartbeatAddress& address) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&address, sizeof(address), MPI_BYTE, 0, MPI_COMM_WORLD, &request), mpi.rank(), "MPI_Ibcast");
  mpi.wait_for_all(request, late_start(mpi), Deadline::in(startup_seconds), true);
}

Introduction introduce(Communicator& mpi, const NetworkOptions& options) {
  Introduction mine;
  mine.ranks = ranks_of_node(mpi);
  RankFacts& own = mine.facts;
  put(own.node, host_name());
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
    if (const DeviceWatch* const device = mine.payload->device()) own.driver_pid = device->driver_pid();
  } catch (const DeviceError& e) {  // fails only the cells of this rank
    put(own.no_device, e.what());
    if (dynamic_cast<const MemoryHeld*>(&e) != nullptr) own.no_device_loss = LossKind::memory;
    mine.payload = std::make_unique<HostPayload>(mpi, false);
  } catch (const std::exception& e) {
    put(own.complaint, e.what());
    mine.payload = std::make_unique<HostPayload>(mpi, false);
  }
  put_adapters(own);
  mine.gpus = gpu_poll(options, mine.ranks);
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
