#pragma once

#include <functional>
#include <string>

#include "device/cuda/shared_memory.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Returns the type of handles that a transport uses to share memory; ipc for transports that need none.
cuda::HandleKind kind_of(Transport sharing);

/// Returns the CUDA functions of this build.
DeviceSupport device_support();

/// Creates the answers of a rank to questions of rank 0. label: of the rank's device.
using MakeDeviceAnswerer = std::function<Answerer(Communicator& mpi, int ordinal, const std::string& label)>;

/// Returns the functions of ranks with one device each that exchange only their answers to rank 0.
DeviceSupport answering_devices(MakeDeviceAnswerer make);

/// Prepares CUDA before MPI starts, because MPI may make the first call to the driver. Each rank may see one GPU, and
/// copies to and from the GPUs of all ranks.
void expect_devices(int ranks);

}  // namespace linkmatrix::ranks
