#pragma once

#include <memory>

#include "device/cuda/shared_memory.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Which device the `number`-th rank of a node has, by its ordinal: a launcher may show each rank only its own. Throws
/// BadInput where there is none for it.
int ordinal_of(int number);

/// What a rank tells of its device.
void put_device(RankFacts& facts, int number, const Endpoint& device);

/// The memory of this rank's device: the `number`-th of the node, or the only one that it sees. Its facts get
/// what it is. Throws BadInput where the rank should have none, DeviceError where the device does not work.
std::unique_ptr<Payload> make_device_payload(Communicator& mpi, int number, RankFacts& facts);

/// By what handles a transport gets at another rank's memory; ipc for those that need none.
cuda::HandleKind kind_of(Transport sharing);

/// What this build can do of CUDA devices.
DeviceSupport device_support();

/// To be called before MPI starts, which may be the first to call the driver: each rank sees perhaps one GPU, and
/// copies to and from those of all ranks.
void expect_devices(int ranks);

}  // namespace linkmatrix::ranks
