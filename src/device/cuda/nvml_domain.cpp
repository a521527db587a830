#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "device/cuda/nvml.hpp"
#include "device/cuda/nvml_declarations.hpp"

// NVML's fabric information: the NVLink domain of a device, and the health of its registration.
namespace linkmatrix::cuda {
namespace {

using namespace nvml;

struct FabricInfo {  // nvmlGpuFabricInfo_v2_t
  unsigned version;
  std::array<unsigned char, 16> cluster;
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
constexpr unsigned fabric_version = static_cast<unsigned>(sizeof(FabricInfo)) | 2U << 24;
using AskFabric = int(Device, FabricInfo*);

/// Facts with two bits each in the health mask: 1 true, 2 false, 0 not supported.
constexpr std::array<std::pair<const char*, int>, 4> fabric_health{{{"fabric_bandwidth_degraded", 0},
                                                                    {"fabric_route_recovery", 2},
                                                                    {"fabric_route_unhealthy", 4},
                                                                    {"fabric_access_timeout_recovery", 6}}};

std::string cluster_text(const std::array<unsigned char, 16>& uuid) {
  std::string text;
  for (std::size_t k = 0; k < uuid.size(); ++k) {
    if (k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(uuid[k]));
    text += hex.data();
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> Nvml::fabric(const std::string& pci) const {
  std::map<std::string, std::string> found;
  constexpr std::array states{"not supported", "not started", "in progress", "completed"};
  constexpr unsigned char completed = 3;
  const auto ask = symbol<AskFabric>("nvmlDeviceGetGpuFabricInfoV");
  const auto handle = device(pci);
  FabricInfo info{};
  info.version = fabric_version;
  if (ask == nullptr || !handle || ask(*handle, &info) != success) return found;
  found["fabric_state"] = info.state < states.size() ? states[info.state] : std::to_string(info.state);
  if (info.state != completed) return found;  // otherwise the other fields are not set
  found["fabric_status"] = std::to_string(info.status);
  found["fabric_clique"] = std::to_string(info.clique);
  // on a single node, all bytes of the cluster are 0
  if (std::ranges::any_of(info.cluster, [](unsigned char byte) { return byte != 0; }))
    found["fabric_cluster"] = cluster_text(info.cluster);
  for (const auto& [name, bit] : fabric_health)
    if (const unsigned value = info.health >> bit & 3U; value != 0) found[name] = value == 1 ? "yes" : "no";
  return found;
}

std::string Nvml::domain(const std::string& pci) const {
  const auto facts = fabric(pci);
  const auto cluster = facts.find("fabric_cluster");
  if (cluster == facts.end() || facts.at("fabric_status") != "0") return "";
  return cluster->second + "." + facts.at("fabric_clique");
}

}  // namespace linkmatrix::cuda
