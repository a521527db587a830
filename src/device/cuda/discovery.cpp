#include "device/cuda/discovery.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/limits.hpp"
#include "device/cuda/handles.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix::cuda {
namespace {

namespace fs = std::filesystem;

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
  device.node = node;
  // A device without a readable name fails later, when its context is created.
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess) {
    device.name = properties.name;
    device.uuid = uuid_text(properties.uuid);
  }
  std::array<char, 32> pci{};
  if (cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), ordinal) == cudaSuccess) device.pci = pci.data();
  cudaGetLastError();
  std::transform(device.pci.begin(), device.pci.end(), device.pci.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  device.numa = numa_node(device.pci);
  return device;
}

/// Returns the compute capability; {0, 0} if unknown, because another process may use the device exclusively.
Capability capability_of(int ordinal) {
  Capability capability;
  if (cudaDeviceGetAttribute(&capability.major, cudaDevAttrComputeCapabilityMajor, ordinal) != cudaSuccess ||
      cudaDeviceGetAttribute(&capability.minor, cudaDevAttrComputeCapabilityMinor, ordinal) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  return capability;
}

std::optional<double> nvlink_limit(const Nvml& nvml, const Endpoint& device, int links) {
  const NvlinkKind* const kind = nvlink_kind(nvml.link_rate(device.pci), capability_of(device.index));
  return kind == nullptr ? std::nullopt : std::optional(kind->net * links);
}

/// Returns the slot name that the firmware assigns to a device; "" if there is none.
std::string pci_slot(const std::string& pci) {
  std::error_code missing;
  for (const auto& slot : fs::directory_iterator("/sys/bus/pci/slots", missing)) {
    std::string address;
    if (std::ifstream(slot.path() / "address") >> address && pci.starts_with(address)) return slot.path().filename();
  }
  return "";
}

/// A device and the other ends of its NVLinks.
struct Linked {
  const Endpoint& device;
  std::optional<Nvml::Links> links;
};

/// Returns the number of NVLinks between two devices, direct or through switches.
int links_between(const Nvml& nvml, const Linked& a, const Linked& b) {
  if (!a.links || !b.links) return 0;
  const auto direct = std::count_if(a.links->peers.begin(), a.links->peers.end(),
                                    [&](const std::string& peer) { return same_device(peer, b.device.pci); });
  if (direct > 0) return static_cast<int>(direct);
  if (a.links->to_switch > 0 && b.links->to_switch > 0) return std::min(a.links->to_switch, b.links->to_switch);
  // A virtual machine hides the other ends. Then use the driver's answer on peer-to-peer access over NVLink.
  const bool hidden = a.links->peers.empty() && b.links->peers.empty();
  const bool joined = hidden && nvml.nvlink_between(a.device.pci, b.device.pci);
  return joined ? std::min(a.links->active, b.links->active) : 0;
}

}  // namespace

void request_queues(int devices) {
  constexpr int default_queues = 8, most = 32;  // CUDA C++ Programming Guide, CUDA_DEVICE_MAX_CONNECTIONS
  static int asked = 0;
  asked = std::max(asked, devices);
  const int wanted = std::clamp(asked, default_queues, most);
  if (wanted > default_queues || std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr)
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(wanted).c_str(), 1);
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
}

int visible_devices(std::string& reason) {
  request_queues(listed_gpus());  // the first CUDA call reads the variables
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  const bool no_driver = status == cudaErrorInsufficientDriver || status == cudaErrorSystemDriverMismatch;
  int version = 0;
  if (no_driver && cudaDriverGetVersion(&version) == cudaSuccess && version > 0)
    reason =
        "the NVIDIA driver is older than the CUDA version of this program: update the driver, or build with an older "
        "CUDA toolkit";
  else if (no_driver || status == cudaErrorNoDevice)
    reason = no_driver ? "no NVIDIA driver" : "no NVIDIA GPU is visible";
  else
    reason = "the CUDA driver reports: " + error_text(status);
  if (is_mps_rejection(status)) throw CudaError(reason, status);
  return 0;
}

int listed_gpus(const std::string& root) {
  std::error_code missing;
  const auto count = [&](const std::string& folder, const auto& is_gpu) {
    int found = 0;
    for (const auto& entry : fs::directory_iterator(root + folder, missing))
      if (is_gpu(entry.path().filename().string())) ++found;
    return found;
  };
  const int by_driver = count("/proc/driver/nvidia/gpus", [](const std::string&) { return true; });
  const int by_file = count("/dev", [](const std::string& name) {
    return name.starts_with("nvidia") && name.size() > 6 &&
           name.find_first_not_of("0123456789", 6) == std::string::npos;
  });
  return std::max(by_driver, by_file);
}

std::string hidden_text(int gpus, const std::optional<std::string>& variable, const std::string& reason) {
  const std::string all = std::to_string(gpus) + (gpus == 1 ? " NVIDIA GPU" : " NVIDIA GPUs");
  if (variable)
    return "CUDA_VISIBLE_DEVICES='" + *variable + "' hides this host's " + all +
           ": unset CUDA_VISIBLE_DEVICES, or measure host memory with --backend host";
  return "this host has " + all + ", but " + reason +
         ": request GPUs for the job, or measure host memory with --backend host";
}

std::string why_hidden() {
  std::string reason;
  if (visible_devices(reason) > 0) return "";
  const int gpus = std::max(listed_gpus(), Nvml().device_count());
  const char* const variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (gpus == 0) return "";
  return hidden_text(gpus, variable == nullptr ? std::nullopt : std::optional<std::string>(variable), reason);
}

std::vector<int> choose_devices(std::span<const int> wanted) {
  std::string reason;
  const int count = visible_devices(reason);
  if (const std::string hidden = why_hidden(); !hidden.empty()) throw BadInput(hidden);
  if (count == 0) throw DeviceError(reason + "; --backend host measures host memory");
  if (wanted.empty()) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  for (const int device : wanted)
    if (device >= count)
      throw BadInput("--devices: unknown device " + std::to_string(device) + ": use 0 to " + std::to_string(count - 1));
  return {wanted.begin(), wanted.end()};
}

std::vector<Endpoint> describe_devices(std::span<const int> ordinals) {
  const std::string node = host_name();
  std::vector<Endpoint> devices;
  for (const int ordinal : ordinals) devices.push_back(describe_device(ordinal, node));
  return devices;
}

bool can_reach(const Endpoint& from, const Endpoint& to) {
  int yes = 0;
  if (cudaDeviceCanAccessPeer(&yes, from.index, to.index) == cudaSuccess) return yes != 0;
  cudaGetLastError();
  return false;
}

Topology discover_links(const Nvml& nvml, const std::vector<Endpoint>& devices) {
  const std::size_t n = devices.size();
  Topology t{Matrix<std::string>(n, n, "X"),
             Matrix<std::optional<int>>(n, n, 0),
             Matrix<std::optional<bool>>(n, n, true),
             {},
             Matrix<std::optional<double>>(n, n)};
  std::vector<Linked> linked;
  for (const Endpoint& device : devices) linked.push_back({device, nvml.links(device.pci)});
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const int links = links_between(nvml, linked[a], linked[b]);
      t.links(a, b) = links;
      t.link_class(a, b) =
          links > 0 ? "NV" + std::to_string(links) : nvml.pcie_class(devices[a].pci, devices[b].pci).value_or("");
      if (links > 0) t.limit(a, b) = nvlink_limit(nvml, devices[a], links);
    }
  return t;
}

void add_reach(Topology& topology, const std::vector<Endpoint>& devices,
               const std::function<bool(const Endpoint&, const Endpoint&)>& reaches) {
  const std::size_t n = devices.size();
  Matrix<bool> linked(n, n, false), reached(n, n, false);
  bool any_nvlink = false;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      topology.peer_access(a, b) = reached(a, b) = reaches(devices[a], devices[b]);
      linked(a, b) = topology.links(a, b).value_or(0) > 0;
      any_nvlink = any_nvlink || linked(a, b);
    }
  // Without NVLink, the shortest paths use peer access over PCIe.
  topology.min_path = shortest_paths(any_nvlink ? linked : reached);
}

void read_limits(const Nvml& nvml, Endpoint& device) {
  if (const auto links = nvml.links(device.pci); links && links->active > 0)
    device.link_limit = nvlink_limit(nvml, device, links->active);
  const ChipLink* const chip = nvml.has_chip_link(device.pci) ? chip_link(capability_of(device.index)) : nullptr;
  if (chip != nullptr)
    device.host_limit = chip->net;
  else if (const auto pcie = nvml.pcie(device.pci))
    device.host_limit = pcie_limit(pcie->generation, pcie->width);
}

void identify(const Nvml& nvml, Endpoint& device) {
  device.part = nvml.part(device.pci);
  device.state = nvml.state(device.pci);
  if (!device.uuid.empty()) device.part["uuid"] = device.uuid;
  device.place = {{"node", device.node}, {"pci", device.pci}};
  const auto module = nvml.module(device.pci);
  const std::string slot = module ? "module " + std::to_string(*module) : pci_slot(device.pci);
  if (!slot.empty()) device.place["slot"] = slot;
  if (const std::string domain = nvml.domain(device.pci); !domain.empty()) device.place["domain"] = domain;
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
