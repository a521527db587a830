#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/backend.hpp"
#include "device/host/endpoint_state.hpp"

namespace linkmatrix {

/// Returns the endpoint whose threads copy: the initiator, or the other endpoint if the initiator is NUMA memory.
int executor_of(std::span<const HostEndpointState> endpoint_states, const Copy& copy);
int other_end_of(std::span<const HostEndpointState> endpoint_states, const Copy& copy);

/// Allocates the buffers of copies; a thread of the endpoint touches each and fills it with the pattern.
///
/// Throws BadInput before any allocation if the memory is too small; CopiesFailed for copies of an endpoint that hangs
/// and is then lost; TimedOut if only the time is up.
void reserve_buffers(std::vector<HostEndpointState>& endpoint_states, std::span<const Copy> copies, bool huge,
                     Deadline deadline);

/// Returns deviations from the request, one sentence each: buffers on another NUMA node, pages of another size.
std::vector<std::string> doubts_of_buffers(std::span<const HostEndpointState> endpoint_states, bool huge);

}  // namespace linkmatrix
