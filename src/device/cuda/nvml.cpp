#include "device/cuda/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace linkmatrix::cuda {
namespace {

// The few declarations of nvml.h that are used: the header is not everywhere where the compiler is.
using Device = void*;
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, subsystem_id;
  char id[32];
};
using Init = int();
using DriverVersion = int(char*, unsigned);
using DeviceByPci = int(const char*, Device*);
using LinkState = int(Device, unsigned, unsigned*);
using LinkRemoteType = int(Device, unsigned, int*);
using LinkRemotePci = int(Device, unsigned, PciInfo*);
using P2pStatus = int(Device, Device, int, int*);
using CommonAncestor = int(Device, Device, int*);

constexpr int success = 0, p2p_nvlink = 2, p2p_ok = 0;
constexpr unsigned most_links = 36;
constexpr int remote_gpu = 0, remote_switch = 2;

constexpr std::array<std::pair<int, const char*>, 6> ancestors{
    {{0, "PIX"}, {10, "PIX"}, {20, "PXB"}, {30, "PHB"}, {40, "NODE"}, {50, "SYS"}}};

}  // namespace

Nvml::Nvml() : library_{::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)} {
  const auto init = symbol<Init>("nvmlInit_v2");
  if (library_ != nullptr && (init == nullptr || init() != success)) ::dlclose(std::exchange(library_, nullptr));
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (const auto shutdown = symbol<Init>("nvmlShutdown")) shutdown();
  ::dlclose(library_);
}

template <class Function>
Function* Nvml::symbol(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library_, name));
}

std::optional<Nvml::Device> Nvml::device(const std::string& pci) const {
  const auto find = symbol<DeviceByPci>("nvmlDeviceGetHandleByPciBusId_v2");
  Device handle = nullptr;
  if (find == nullptr || find(pci.c_str(), &handle) != success) return std::nullopt;
  return handle;
}

std::optional<std::string> Nvml::driver_version() const {
  const auto ask = symbol<DriverVersion>("nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (ask == nullptr || ask(text.data(), text.size()) != success) return std::nullopt;
  return std::string(text.data());
}

std::optional<Nvml::Links> Nvml::links(const std::string& pci) const {
  const auto state = symbol<LinkState>("nvmlDeviceGetNvLinkState");
  const auto type = symbol<LinkRemoteType>("nvmlDeviceGetNvLinkRemoteDeviceType");
  const auto remote = symbol<LinkRemotePci>("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  const auto handle = device(pci);
  if (!handle || state == nullptr) return std::nullopt;
  Links links;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0;
    if (state(*handle, link, &active) != success || active == 0) continue;
    ++links.active;
    int kind = -1;
    PciInfo end{};
    if (type != nullptr && type(*handle, link, &kind) == success && kind == remote_switch) ++links.to_switch;
    if (kind == remote_gpu && remote != nullptr && remote(*handle, link, &end) == success) {
      std::string id(end.id);
      std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
      links.peers.push_back(std::move(id));
    }
  }
  return links;
}

bool Nvml::nvlink_between(const std::string& pci_a, const std::string& pci_b) const {
  const auto ask = symbol<P2pStatus>("nvmlDeviceGetP2PStatus");
  const auto a = device(pci_a), b = device(pci_b);
  int status = -1;
  return ask != nullptr && a && b && ask(*a, *b, p2p_nvlink, &status) == success && status == p2p_ok;
}

std::optional<std::string> Nvml::pcie_class(const std::string& pci_a, const std::string& pci_b) const {
  const auto ask = symbol<CommonAncestor>("nvmlDeviceGetTopologyCommonAncestor");
  const auto a = device(pci_a), b = device(pci_b);
  int level = -1;
  if (ask == nullptr || !a || !b || ask(*a, *b, &level) != success) return std::nullopt;
  for (const auto& [known, name] : ancestors)
    if (known == level) return name;
  return std::nullopt;
}

}  // namespace linkmatrix::cuda
