#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {

/// Requests enough hardware queues from the driver; call it before any other CUDA call. Each concurrent copy needs its
/// own queue, because a stream that shares a queue with a gated stream would wait too. One device has at most one copy
/// per other device and the answers of a flag. Many users' environments request a single queue; the maximum of 32 costs
/// 0.8 s at start-up on 2 H200. Also disables blocking launches (a debug setting), which would wait behind a closed
/// gate until its time limit.
void ask_for_queues(int devices);

/// Returns the number of visible devices; `reason` tells why there is none. Call it before other CUDA calls. Throws
/// CudaError if MPS rejects this process.
int visible_devices(std::string& reason);

/// Returns the number of GPUs in /proc/driver/nvidia/gpus or /dev/nvidia0, 1 …, also of GPUs hidden from this process.
/// root: folder of both, for tests.
int listed_gpus(const std::string& root = "");

/// Returns one sentence on why this host's GPUs are not visible. variable: CUDA_VISIBLE_DEVICES, if set.
std::string hidden_text(int gpus, const std::optional<std::string>& variable, const std::string& reason);

/// Returns hidden_text() for this process; "" if GPUs are visible or do not exist.
std::string why_hidden();

/// Returns the requested ordinals, or all visible ones if none is requested. Throws BadInput for an unknown device and
/// if all are hidden, DeviceError without devices.
std::vector<int> choose_devices(std::span<const int> wanted);

/// Returns the devices as endpoints, in the order of `ordinals`.
std::vector<Endpoint> describe_devices(std::span<const int> ordinals);

/// Returns whether the driver allows a device to access another's memory; false without an answer. The current device
/// must be able to have a context.
bool can_reach(const Endpoint& from, const Endpoint& to);

/// Returns link classes, links and limits between the devices. Makes no CUDA call that needs a context.
Topology discover_links(const Nvml& nvml, const std::vector<Endpoint>& devices);

/// Adds peer access and shortest paths.
void add_reach(Topology& topology, const std::vector<Endpoint>& devices,
               const std::function<bool(const Endpoint&, const Endpoint&)>& reaches = can_reach);

/// Returns the versions of driver and CUDA.
Software describe_software(const Nvml& nvml);

/// Sets link_limit and host_limit if the driver reports the number of links and lanes.
void read_limits(const Nvml& nvml, Endpoint& device);

/// Sets the identity of component and slot.
void identify(const Nvml& nvml, Endpoint& device);

}  // namespace linkmatrix::cuda
