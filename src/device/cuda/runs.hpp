#pragma once

#include <span>

#include "device/cuda/failures.hpp"
#include "device/cuda/launch_gate.hpp"

namespace linkmatrix::cuda {

/// Runs copies that the driver queues without waiting: all are held by the gate, which opens when the last of them
/// waits. Events time them; the opening is the common start. Throws CopiesFailed.
Timeline run_gated(const CopyWork& work, LaunchGate& gate, std::span<const Copy> copies, Failures& failures,
                   Deadline deadline);

/// Runs copies for which the driver waits inside the call: this thread hands over one transfer of each in turn, and its
/// clock times them. Throws CopiesFailed.
Timeline run_in_turn(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

/// Runs every copy once, with chains as plain copies over the same path. Failures go into `failures`.
void copy_once(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline);

}  // namespace linkmatrix::cuda
