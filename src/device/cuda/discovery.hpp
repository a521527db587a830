#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {

/// Requests enough hardware queues from the driver, by environment variables. Call it before any other CUDA call.
///
/// Each concurrent copy needs its own queue, because a stream that shares a queue with a gated stream would wait too. A
/// device has at most one copy per other device, and the answers of a flag. The maximum of 32 queues would cost 0.8 s
/// at start-up on 2 H200. devices: number of devices.
///
/// Also disables CUDA_LAUNCH_BLOCKING, with which launches would wait behind a closed gate.
void request_queues(int devices);

/// Returns the number of visible devices. If it is 0, sets `reason`. Call it before other CUDA calls. Throws CudaError
/// if MPS rejects this process.
int visible_devices(std::string& reason);

/// Returns the number of GPUs in /proc/driver/nvidia/gpus or /dev/nvidia0, 1, …, including GPUs that are hidden from
/// this process. root: prefix of both paths, for tests.
int listed_gpus(const std::string& root = "");

/// Returns one sentence on why this host's GPUs are hidden. gpus: their number. variable: CUDA_VISIBLE_DEVICES, if set.
/// reason: of visible_devices().
std::string hidden_text(int gpus, const std::optional<std::string>& variable, const std::string& reason);

/// Returns hidden_text() for this process; "" if GPUs are visible or do not exist.
std::string why_hidden();

/// Returns the requested ordinals; if none is requested, all visible ones. Throws BadInput for an unknown device or if
/// all GPUs are hidden, DeviceError if there are none.
std::vector<int> choose_devices(std::span<const int> wanted);

/// Returns the devices as endpoints, in the order of `ordinals`.
std::vector<Endpoint> describe_devices(std::span<const int> ordinals);

/// Returns whether the driver lets device `from` access the memory of device `to`; false without an answer. Needs a
/// working current device.
bool can_reach(const Endpoint& from, const Endpoint& to);

/// Returns link classes, links and limits between the devices. Needs no context.
Topology discover_links(const Nvml& nvml, const std::vector<Endpoint>& devices);

/// Adds peer access and shortest paths.
void add_reach(Topology& topology, const std::vector<Endpoint>& devices,
               const std::function<bool(const Endpoint&, const Endpoint&)>& reaches = can_reach);

/// Returns the versions of driver and CUDA.
Software describe_software(const Nvml& nvml);

/// Sets Endpoint::link_limit and host_limit, if the driver reports the number of links and lanes.
void read_limits(const Nvml& nvml, Endpoint& device);

/// Sets Endpoint::part and Endpoint::place.
void identify(const Nvml& nvml, Endpoint& device);

}  // namespace linkmatrix::cuda
