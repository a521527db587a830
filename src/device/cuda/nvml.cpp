#include "device/cuda/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "device/cuda/nvml_declarations.hpp"

namespace linkmatrix::cuda {
namespace {

using namespace nvml;

// Further declarations of nvml.h.
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, subsystem_id;
  char id[32];
};
using Init = int();
using DriverVersion = int(char*, unsigned);
using DeviceByPci = int(const char*, Device*);
using DeviceByIndex = int(unsigned, Device*);
using PciInfoOf = int(Device, PciInfo*);
using LinkState = int(Device, unsigned, unsigned*);
using LinkRemoteType = int(Device, unsigned, int*);
using LinkRemotePci = int(Device, unsigned, PciInfo*);
using P2pStatus = int(Device, Device, int, int*);
using CommonAncestor = int(Device, Device, int*);
using AskUnsigned = int(Device, unsigned*);
using AskUnsignedOf = int(Device, int, unsigned*);
using EccErrors = int(Device, int, int, unsigned long long*);
using LinkErrors = int(Device, unsigned, int, unsigned long long*);
using RemappedRows = int(Device, unsigned*, unsigned*, unsigned*, unsigned*);
using ThrottleReasons = int(Device, unsigned long long*);
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
using EventSetCreate = int(void**);
using EventSetFree = int(void*);
using RegisterEvents = int(Device, unsigned long long, void*);
using EventSetWait = int(void*, EventData*, unsigned);

constexpr int p2p_read = 0, p2p_nvlink = 2, p2p_ok = 0;
constexpr int remote_gpu = 0, remote_switch = 2;
constexpr unsigned long long xid_event = 8;
constexpr int volatile_counters = 0;  // since the driver was loaded

template <class T>
using Named = std::pair<T, const char*>;

constexpr std::array<Named<int>, 2> ecc_kinds{{{0, "ecc_corrected"}, {1, "ecc_uncorrected"}}};
constexpr std::array<Named<int>, 3> link_errors{{{0, "nvlink_replay"}, {1, "nvlink_recovery"}, {2, "nvlink_crc_flit"}}};
// Counters of corrected bits are not read: healthy H200 correct hundreds in 15 s without a replay, and the driver takes
// 0.6 ms per counter and link.

/// Throttle reasons that slow copies. Idle clocks, user-defined clocks and synchronised boost do not.
constexpr std::array<Named<unsigned long long>, 5> throttles{{{0x04, "power cap"},
                                                              {0x08, "hardware slowdown"},
                                                              {0x20, "too warm (software)"},
                                                              {0x40, "too warm (hardware)"},
                                                              {0x80, "power brake"}}};

struct Reading {
  const char* name;
  const char* function;
  int argument;  ///< number of the clock or sensor; -1: the function takes no argument
  double scale;
};
constexpr std::array<Reading, 6> all_readings{{{"sm_clock_mhz", "nvmlDeviceGetClockInfo", 1, 1},
                                               {"memory_clock_mhz", "nvmlDeviceGetClockInfo", 2, 1},
                                               {"power_w", "nvmlDeviceGetPowerUsage", -1, 1e-3},
                                               {"temperature_c", "nvmlDeviceGetTemperature", 0, 1},
                                               {"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", -1, 1},
                                               {"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", -1, 1}}};

constexpr auto ancestors = std::to_array<std::pair<int, const char*>>(
    {{0, "PIX"}, {10, "PIX"}, {20, "PXB"}, {30, "PHB"}, {40, "NODE"}, {50, "SYS"}});

}  // namespace

Nvml::Nvml() : library_{::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)} {
  const auto init = symbol<Init>("nvmlInit_v2");
  if (library_ != nullptr && (init == nullptr || init() != success)) ::dlclose(std::exchange(library_, nullptr));
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (const auto free = symbol<EventSetFree>("nvmlEventSetFree"); free != nullptr && events_ != nullptr) free(events_);
  if (const auto shutdown = symbol<Init>("nvmlShutdown")) shutdown();
  ::dlclose(library_);
}

void* Nvml::address(const char* name) const { return library_ == nullptr ? nullptr : ::dlsym(library_, name); }

std::optional<Nvml::Device> Nvml::device(const std::string& pci) const {
  const auto find = symbol<DeviceByPci>("nvmlDeviceGetHandleByPciBusId_v2");
  Device handle = nullptr;
  if (find == nullptr || find(pci.c_str(), &handle) != success) return std::nullopt;
  return handle;
}

bool same_device(const std::string& pci_a, const std::string& pci_b) {
  const auto key = [](const std::string& pci) {
    std::string tail = pci.substr(pci.size() > 10 ? pci.size() - 10 : 0);
    std::ranges::transform(tail, tail.begin(), [](unsigned char c) { return std::tolower(c); });
    return tail;
  };
  return key(pci_a) == key(pci_b);
}

std::vector<std::string> Nvml::pcis() const {
  const auto find = symbol<DeviceByIndex>("nvmlDeviceGetHandleByIndex_v2");
  const auto ask = symbol<PciInfoOf>("nvmlDeviceGetPciInfo_v3");
  std::vector<std::string> found(static_cast<std::size_t>(device_count()));
  for (std::size_t index = 0; index < found.size(); ++index) {
    Device handle = nullptr;
    PciInfo info{};
    if (find != nullptr && ask != nullptr && find(static_cast<unsigned>(index), &handle) == success &&
        ask(handle, &info) == success)
      found[index] = info.id;
  }
  return found;
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

std::optional<bool> Nvml::peer_access(const std::string& pci_a, const std::string& pci_b) const {
  const auto ask = symbol<P2pStatus>("nvmlDeviceGetP2PStatus");
  const auto a = device(pci_a), b = device(pci_b);
  int status = -1;
  if (ask == nullptr || !a || !b || ask(*a, *b, p2p_read, &status) != success) return std::nullopt;
  return status == p2p_ok;
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

std::optional<Nvml::Pcie> Nvml::pcie(const std::string& pci) const {
  const auto generation = symbol<AskUnsigned>("nvmlDeviceGetMaxPcieLinkGeneration");
  const auto width = symbol<AskUnsigned>("nvmlDeviceGetMaxPcieLinkWidth");
  const auto handle = device(pci);
  unsigned g = 0, w = 0;
  if (!handle || generation == nullptr || width == nullptr || generation(*handle, &g) != success ||
      width(*handle, &w) != success)
    return std::nullopt;
  return Pcie{static_cast<int>(g), static_cast<int>(w)};
}

std::map<std::string, double> Nvml::counters(const std::string& pci) const {
  std::map<std::string, double> found;
  const auto handle = device(pci);
  if (!handle) return found;
  if (const auto ask = symbol<EccErrors>("nvmlDeviceGetTotalEccErrors"))
    for (const auto& [kind, name] : ecc_kinds)
      if (unsigned long long count = 0; ask(*handle, kind, volatile_counters, &count) == success)
        found[name] = static_cast<double>(count);
  if (const auto ask = symbol<LinkErrors>("nvmlDeviceGetNvLinkErrorCounter"))
    for (const auto& [kind, name] : link_errors)
      for (unsigned link = 0; link < most_links; ++link)
        if (unsigned long long count = 0; ask(*handle, link, kind, &count) == success)
          found[name] += static_cast<double>(count);
  if (const auto ask = symbol<AskUnsigned>("nvmlDeviceGetPcieReplayCounter"))
    if (unsigned count = 0; ask(*handle, &count) == success) found["pcie_replay"] = count;
  if (const auto ask = symbol<RemappedRows>("nvmlDeviceGetRemappedRows"))
    if (unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
        ask(*handle, &corrected, &uncorrected, &pending, &failed) == success)
      found["remapped_rows"] = static_cast<double>(corrected) + uncorrected;
  return found;
}

std::map<std::string, double> Nvml::readings(const std::string& pci) const {
  std::map<std::string, double> found;
  const auto handle = device(pci);
  if (!handle) return found;
  for (const auto& [name, function, argument, scale] : all_readings) {
    unsigned value = 0;
    const auto plain = argument < 0 ? symbol<AskUnsigned>(function) : nullptr;
    const auto with_argument = argument < 0 ? nullptr : symbol<AskUnsignedOf>(function);
    const bool answered = (plain != nullptr && plain(*handle, &value) == success) ||
                          (with_argument != nullptr && with_argument(*handle, argument, &value) == success);
    if (answered) found[name] = value * scale;
  }
  return found;
}

std::vector<std::string> Nvml::throttle_reasons(const std::string& pci) const {
  const auto ask = symbol<ThrottleReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  const auto handle = device(pci);
  unsigned long long bits = 0;
  std::vector<std::string> reasons;
  if (!handle || ask == nullptr || ask(*handle, &bits) != success) return reasons;
  for (const auto& [bit, name] : throttles)
    if ((bits & bit) != 0) reasons.emplace_back(name);
  return reasons;
}

bool Nvml::watch_events(const std::vector<std::string>& pcis) {
  const auto create = symbol<EventSetCreate>("nvmlEventSetCreate");
  const auto add = symbol<RegisterEvents>("nvmlDeviceRegisterEvents");
  if (create == nullptr || add == nullptr || create(&events_) != success) return false;
  bool all = true;
  for (const std::string& pci : pcis) {
    watched_.push_back(device(pci).value_or(nullptr));
    all = all && watched_.back() != nullptr && add(watched_.back(), xid_event, events_) == success;
  }
  return all;
}

std::vector<std::pair<std::size_t, int>> Nvml::take_events() {
  const auto wait = symbol<EventSetWait>("nvmlEventSetWait_v2");
  std::vector<std::pair<std::size_t, int>> found;
  EventData event{};
  while (wait != nullptr && events_ != nullptr && wait(events_, &event, 0) == success) {
    const auto at = std::find(watched_.begin(), watched_.end(), event.device);
    if (event.type == xid_event && at != watched_.end())
      found.emplace_back(static_cast<std::size_t>(at - watched_.begin()), static_cast<int>(event.data));
  }
  return found;
}

}  // namespace linkmatrix::cuda
