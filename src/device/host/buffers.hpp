#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/backend.hpp"
#include "device/host/endpoint_state.hpp"

namespace linkmatrix {

/// Returns the endpoint whose threads make a copy: the initiator, or the other endpoint if the initiator is NUMA
/// memory.
int copying_endpoint(std::span<const HostEndpointState> endpoint_states, const Copy& copy);
int other_endpoint(std::span<const HostEndpointState> endpoint_states, const Copy& copy);

/// Allocates the buffers of copies. A thread of each endpoint touches its buffers and fills them with the pattern.
/// huge: whether to use pages of 2 MiB.
///
/// Throws BadInput before any allocation if memory is insufficient, CopiesFailed if an endpoint hangs (it is then
/// lost), and TimedOut after `deadline`.
void reserve_buffers(std::vector<HostEndpointState>& endpoint_states, std::span<const Copy> copies, bool huge,
                     Deadline deadline);

/// Returns deviations from the request, one sentence each: buffers on another NUMA node, pages of another size.
std::vector<std::string> buffer_remarks(std::span<const HostEndpointState> endpoint_states, bool huge);

}  // namespace linkmatrix
