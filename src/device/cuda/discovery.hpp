#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {

/// Asks the driver for as many hardware queues of each device as there are devices to copy to and from; only before its
/// first call. A stream that shares the queue of one that a gate holds would wait with it: every copy of a run needs
/// one of its own, and those of one device are at most one for each other device, and the answers of a flag. Many
/// users' environments ask for a single queue. More than are needed cost start-up: 32 of them, the most there are, 0.8
/// s on 2 H200. And has it not wait for each kernel that is launched, which some debug with: behind a closed gate that
/// is until the gate gives up.
void ask_for_queues(int devices);

/// Number of visible devices; `reason` says why there is none. To be called before anything else of CUDA. Throws
/// CudaError where MPS refuses this process.
int visible_devices(std::string& reason);

/// GPUs that the driver lists in /proc/driver/nvidia/gpus or as /dev/nvidia0, 1 …, whatever this process may see of
/// them. `root`: where these folders are, for tests.
int listed_gpus(const std::string& root = "");

/// One sentence: this host has so many GPUs, and why none is visible. `variable`: CUDA_VISIBLE_DEVICES, should it be
/// set.
std::string hidden_text(int gpus, const std::optional<std::string>& variable, const std::string& reason);

/// hidden_text of this host and this process; empty: some are visible, or there are none.
std::string why_hidden();

/// The ordinals that are wanted; none are wanted: all visible ones. Throws BadInput for one that there is not and where
/// all are hidden, DeviceError where there are none.
std::vector<int> choose_devices(std::span<const int> wanted);

/// The devices as endpoints, in the order of `ordinals`.
std::vector<Endpoint> describe_devices(std::span<const int> ordinals);

/// Whether a device has access to another's memory, by the driver's word; false where it does not answer. The current
/// device must be one that may have a context.
bool can_reach(const Endpoint& from, const Endpoint& to);

/// Link classes, links and limits between the devices; no call of CUDA that needs a context.
Topology discover_links(const Nvml& nvml, const std::vector<Endpoint>& devices);

/// Adds peer access and shortest paths.
void add_reach(Topology& topology, const std::vector<Endpoint>& devices,
               const std::function<bool(const Endpoint&, const Endpoint&)>& reaches = can_reach);

/// Versions of the driver and of CUDA.
Software describe_software(const Nvml& nvml);

/// Fills in link_limit and host_limit, as far as the driver says how many links and lanes there are.
void read_limits(const Nvml& nvml, Endpoint& device);

/// Fills in what identifies the part and the place.
void identify(const Nvml& nvml, Endpoint& device);

}  // namespace linkmatrix::cuda
