#pragma once

#include <memory>
#include <span>

#include "device/backend.hpp"

namespace linkmatrix {

/// GPUs of one node, each with a process of its own: every rank brings up one device and opens the others' memory by
/// CUDA IPC. Copies are made by the initiator's process, gated and timed there. Every rank makes the same calls.
///
/// `devices`: the devices of ranks 0, 1 …; empty: those that each rank sees, in order. Starts and ends MPI. Throws
/// BadInput where there are not as many devices as ranks, or where ranks are on several nodes.
std::unique_ptr<Backend> make_ipc_backend(std::span<const int> devices);

}  // namespace linkmatrix
