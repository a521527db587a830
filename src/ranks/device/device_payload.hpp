#pragma once

#include <functional>
#include <string>

#include "device/cuda/shared_memory.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Returns the type of handles by which a transport shares memory; HandleKind::ipc for transports without handles.
cuda::HandleKind kind_of(Transport sharing);

/// Returns the functions for ranks that measure device memory.
DeviceSupport device_support();

/// Creates the function that answers rank 0's questions. ordinal, label: device of the rank.
using MakeDeviceAnswerer = std::function<Answerer(Communicator& mpi, int ordinal, const std::string& label)>;

/// Returns the functions for ranks with one device each that only answer questions of rank 0.
DeviceSupport answering_devices(MakeDeviceAnswerer make);

/// Calls request_queues() for `ranks` devices. Call it before MPI starts, because MPI may call the driver.
void expect_devices(int ranks);

}  // namespace linkmatrix::ranks
