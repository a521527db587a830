#include "device/cuda/discovery.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "core/limits.hpp"
#include "device/cuda/handles.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix::cuda {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  constexpr std::array dashes_before{0, 4, 6, 8, 10};
  for (int i = 0; i < 16; ++i) {
    if (std::find(dashes_before.begin(), dashes_before.end(), i) != dashes_before.end()) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex.data();
  }
  return text;
}

int numa_node(const std::string& pci) {
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + pci + "/numa_node") >> node;
  return node;
}

Endpoint describe_device(int ordinal, const std::string& node) {
  Endpoint device;
  device.kind = EndpointKind::device;
  device.index = ordinal;
  device.label = "gpu" + std::to_string(ordinal);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), device.label, "cudaGetDeviceProperties");
  device.name = properties.name;
  device.uuid = uuid_text(properties.uuid);
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), ordinal), device.label,
        "cudaDeviceGetPCIBusId");
  device.pci = pci.data();
  std::transform(device.pci.begin(), device.pci.end(), device.pci.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  device.node = node;
  device.numa = numa_node(device.pci);
  return device;
}

/// NVLink generation by compute capability: NVML's own numbering of versions has changed between drivers.
int nvlink_generation(int ordinal) {
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal), "gpu" + std::to_string(ordinal),
        "cudaDeviceGetAttribute");
  constexpr std::array<std::pair<int, int>, 5> by_major{{{6, 1}, {7, 2}, {8, 3}, {9, 4}, {10, 5}}};
  for (const auto& [capability, generation] : by_major)
    if (capability == major) return generation;
  return 0;
}

bool same_device(const std::string& pci_a, const std::string& pci_b) {
  const auto tail = [](const std::string& pci) { return pci.substr(pci.size() > 10 ? pci.size() - 10 : 0); };
  return tail(pci_a) == tail(pci_b);  // "0000:1b:00.0" and "00000000:1b:00.0"
}

/// A device and where its NVLinks end.
struct Linked {
  const Endpoint& device;
  std::optional<Nvml::Links> links;
};

/// NVLinks that join two devices, directly or through switches.
int links_between(const Nvml& nvml, const Linked& a, const Linked& b) {
  if (!a.links || !b.links) return 0;
  const auto direct = std::count_if(a.links->peers.begin(), a.links->peers.end(),
                                    [&](const std::string& peer) { return same_device(peer, b.device.pci); });
  if (direct > 0) return static_cast<int>(direct);
  if (a.links->to_switch > 0 && b.links->to_switch > 0) return std::min(a.links->to_switch, b.links->to_switch);
  // Inside a virtual machine the far ends are hidden: then the driver's word on peer-to-peer over NVLink must do.
  const bool hidden = a.links->peers.empty() && b.links->peers.empty();
  const bool joined = hidden && nvml.nvlink_between(a.device.pci, b.device.pci);
  return joined ? std::min(a.links->active, b.links->active) : 0;
}

}  // namespace

int visible_devices(std::string& reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  const bool no_driver = status == cudaErrorInsufficientDriver || status == cudaErrorSystemDriverMismatch;
  int version = 0;
  if (no_driver && cudaDriverGetVersion(&version) == cudaSuccess && version > 0)
    reason = "the NVIDIA driver is too old for the CUDA this was built with: update it, or build with an older toolkit";
  else if (no_driver || status == cudaErrorNoDevice)
    reason = no_driver ? "no NVIDIA driver" : "no NVIDIA GPU is visible";
  else
    reason = std::string("the CUDA driver says: ") + cudaGetErrorString(status);
  return 0;
}

std::vector<Endpoint> describe_devices(std::span<const int> ordinals) {
  const std::string node = host_facts().name;
  std::vector<Endpoint> devices;
  for (const int ordinal : ordinals) devices.push_back(describe_device(ordinal, node));
  return devices;
}

bool can_reach(const Endpoint& from, const Endpoint& to) {
  int yes = 0;
  check(cudaDeviceCanAccessPeer(&yes, from.index, to.index), from.label, "cudaDeviceCanAccessPeer");
  return yes != 0;
}

Topology discover_topology(const Nvml& nvml, const std::vector<Endpoint>& devices,
                           const std::function<bool(const Endpoint&, const Endpoint&)>& reaches) {
  const std::size_t n = devices.size();
  Topology t{Matrix<std::string>(n, n, "X"),
             Matrix<std::optional<int>>(n, n, 0),
             Matrix<std::optional<bool>>(n, n, true),
             {},
             Matrix<std::optional<double>>(n, n)};
  std::vector<Linked> linked;
  for (const Endpoint& device : devices) linked.push_back({device, nvml.links(device.pci)});
  Matrix<bool> direct(n, n, false);
  bool any_nvlink = false;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const int links = links_between(nvml, linked[a], linked[b]);
      t.links(a, b) = links;
      t.peer_access(a, b) = reaches(devices[a], devices[b]);
      t.link_class(a, b) =
          links > 0 ? "NV" + std::to_string(links) : nvml.pcie_class(devices[a].pci, devices[b].pci).value_or("");
      if (links > 0) t.limit(a, b) = nvlink_limit(nvlink_generation(devices[a].index), links);
      direct(a, b) = links > 0;
      any_nvlink = any_nvlink || links > 0;
    }
  // Without NVLink a path is what peer access offers over PCIe.
  if (!any_nvlink)
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) direct(a, b) = a != b && *t.peer_access(a, b);
  t.min_path = shortest_paths(direct);
  return t;
}

void read_limits(const Nvml& nvml, Endpoint& device) {
  if (const auto links = nvml.links(device.pci); links && links->active > 0)
    device.link_limit = nvlink_limit(nvlink_generation(device.index), links->active);
  if (const auto pcie = nvml.pcie(device.pci)) device.host_limit = pcie_limit(pcie->generation, pcie->width);
}

Software describe_software(const Nvml& nvml) {
  Software software;
  if (const auto driver = nvml.driver_version()) software["driver"] = *driver;
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    software["CUDA"] = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  software["compiler"] = compiler_version();
  software["kernel"] = kernel_release();
  return software;
}

}  // namespace linkmatrix::cuda
