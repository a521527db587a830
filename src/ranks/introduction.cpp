#include "ranks/introduction.hpp"

#include <mpi.h>

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

/// This rank's number among those of its node.
int number_on_node(const Communicator& mpi) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi.rank(), MPI_INFO_NULL, &node), mpi.rank(),
            "MPI_Comm_split_type");
  int number = 0;
  MPI_Comm_rank(node, &number);
  MPI_Comm_free(&node);
  return number;
}

std::unique_ptr<Payload> make_payload(Communicator& mpi, const NetworkOptions& options, RankFacts& own) {
  if (options.memory == Memory::host)
    return std::make_unique<HostPayload>(mpi, options.huge_pages,
                                         options.make_answerer ? options.make_answerer(mpi) : Answerer{});
  if (!options.devices.make_payload)
    throw BadInput("--memory device: this p2p_matrix was built without it: configure with -DLINKMATRIX_CUDA=ON");
  return options.devices.make_payload(mpi, number_on_node(mpi), own);
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
  const std::string late = "not all of the " + std::to_string(mpi.size()) + " ranks answered within " +
                           std::to_string(static_cast<int>(startup_seconds)) + " s of their start";
  mpi.wait_for_all(request, late, Deadline::in(startup_seconds), true);
}

Introduction introduce(Communicator& mpi, const NetworkOptions& options) {
  Introduction mine;
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
    mine.payload = make_payload(mpi, options, own);
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
  const std::string late = "not all of the " + std::to_string(mpi.size()) + " ranks answered within " +
                           std::to_string(static_cast<int>(startup_seconds)) + " s of their start";
  mpi.wait_for_all(request, late, Deadline::in(startup_seconds), true);
  return facts;
}

std::string label_of(const RankFacts& rank) { return text_of(rank.node) + ":" + text_of(rank.device); }

}  // namespace linkmatrix::ranks
