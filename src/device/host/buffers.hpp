#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/backend.hpp"
#include "device/host/endpoint_state.hpp"

namespace linkmatrix {

/// The endpoint whose threads copy: the initiator, or where that is NUMA memory, the other end.
int executor_of(std::span<const HostEndpointState> endpoint_states, const Copy& copy);
int other_end_of(std::span<const HostEndpointState> endpoint_states, const Copy& copy);

/// Makes the buffers of copies, touched by a thread of their endpoint and filled with the pattern.
///
/// Throws BadInput, before anything is allocated, where all that is missing does not fit into what there is;
/// CopiesFailed for the copies of an endpoint that hangs, which is `lost` then; TimedOut where only time is up.
void reserve_buffers(std::vector<HostEndpointState>& endpoint_states, std::span<const Copy> copies, bool huge,
                     Deadline deadline);

/// What is not as it was asked for: buffers on another NUMA node, pages of another size. One sentence each.
std::vector<std::string> doubts_of_buffers(std::span<const HostEndpointState> endpoint_states, bool huge);

}  // namespace linkmatrix
