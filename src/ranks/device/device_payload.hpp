#pragma once

#include <memory>

#include "device/cuda/shared_memory.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Returns the CUDA ordinal of the device of the `number`-th rank of a node; a launcher may expose only one device per
/// rank. Throws BadInput without a device for the rank.
int ordinal_of(int number);

/// Adds the facts of a rank's device.
void put_device(RankFacts& facts, int number, const Endpoint& device);

/// Creates the device memory of this rank, the `number`-th of its node, and adds the device to its facts. Throws
/// BadInput if no device is available for the rank, DeviceError if the device does not work.
std::unique_ptr<Payload> make_device_payload(Communicator& mpi, int number, RankFacts& facts);

/// Returns the type of handles that a transport uses to share memory; ipc for transports that need none.
cuda::HandleKind kind_of(Transport sharing);

/// Returns the CUDA functions of this build.
DeviceSupport device_support();

/// Prepares CUDA before MPI starts, because MPI may make the first call to the driver. Each rank may see one GPU, and
/// copies to and from the GPUs of all ranks.
void expect_devices(int ranks);

}  // namespace linkmatrix::ranks
