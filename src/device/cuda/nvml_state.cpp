#include <array>
#include <utility>

#include "device/cuda/nvml.hpp"
#include "device/cuda/nvml_declarations.hpp"

// Settings and state of a device from NVML that a user may have changed, or that change with the next reset.
namespace linkmatrix::cuda {
namespace {

using namespace nvml;

// Further declarations of nvml.h.
using AskNumberOf = int(Device, int, unsigned*);
using AskTwo = int(Device, unsigned*, unsigned*);
using AskFour = int(Device, unsigned*, unsigned*, unsigned*, unsigned*);
using AskLink = int(Device, unsigned, unsigned*);

std::string on_or_off(unsigned value) { return value != 0 ? "on" : "off"; }
std::string yes_or_no(unsigned value) { return value != 0 ? "yes" : "no"; }
std::string number(unsigned value) { return std::to_string(value); }
std::string watts(unsigned milliwatts) { return std::to_string((milliwatts + 500) / 1000); }

/// Values of nvmlComputeMode_t.
std::string compute_mode(unsigned mode) {
  constexpr std::array words{"default", "exclusive thread", "prohibited", "exclusive process"};
  return mode < words.size() ? words[mode] : number(mode);
}

struct One {
  const char* name;
  const char* function;
  int argument;  ///< number of the clock; -1: the function takes no argument
  std::string (*word)(unsigned);
};
constexpr std::array<One, 12> ones{{{"power_limit_w", "nvmlDeviceGetPowerManagementLimit", -1, watts},
                                    {"power_limit_default_w", "nvmlDeviceGetPowerManagementDefaultLimit", -1, watts},
                                    {"power_limit_enforced_w", "nvmlDeviceGetEnforcedPowerLimit", -1, watts},
                                    {"sm_clock_most_mhz", "nvmlDeviceGetMaxClockInfo", 1, number},
                                    {"memory_clock_most_mhz", "nvmlDeviceGetMaxClockInfo", 2, number},
                                    {"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", -1, number},
                                    {"pcie_generation_most", "nvmlDeviceGetMaxPcieLinkGeneration", -1, number},
                                    {"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", -1, number},
                                    {"pcie_width_most", "nvmlDeviceGetMaxPcieLinkWidth", -1, number},
                                    {"pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", -1, yes_or_no},
                                    {"compute_mode", "nvmlDeviceGetComputeMode", -1, compute_mode},
                                    {"persistence", "nvmlDeviceGetPersistenceMode", -1, on_or_off}}};

/// A mode now and after the next reset.
struct Mode {
  const char *name, *pending, *function;
};
constexpr std::array<Mode, 2> modes{
    {{"ecc", "ecc_pending", "nvmlDeviceGetEccMode"}, {"mig", "mig_pending", "nvmlDeviceGetMigMode"}}};

}  // namespace

std::map<std::string, std::string> Nvml::state(const std::string& pci) const {
  std::map<std::string, std::string> found;
  const auto handle = device(pci);
  if (!handle) return found;
  for (const auto& [name, function, argument, word] : ones) {
    unsigned value = 0;
    const auto plain = argument < 0 ? symbol<AskNumber>(function) : nullptr;
    const auto with_argument = argument < 0 ? nullptr : symbol<AskNumberOf>(function);
    if ((plain != nullptr && plain(*handle, &value) == success) ||
        (with_argument != nullptr && with_argument(*handle, argument, &value) == success))
      found[name] = word(value);
  }
  for (const auto& [name, pending, function] : modes) {
    unsigned now = 0, later = 0;
    const auto ask = symbol<AskTwo>(function);
    if (ask == nullptr || ask(*handle, &now, &later) != success) continue;
    found[name] = on_or_off(now);
    found[pending] = on_or_off(later);
  }
  unsigned corrected = 0, uncorrected = 0, waits = 0, failed = 0;
  if (const auto ask = symbol<AskFour>("nvmlDeviceGetRemappedRows");
      ask != nullptr && ask(*handle, &corrected, &uncorrected, &waits, &failed) == success) {
    found["remap_pending"] = yes_or_no(waits);
    found["remap_failed"] = yes_or_no(failed);
  }
  found.merge(fabric(pci));
  unsigned there = 0, active = 0;
  if (const auto ask = symbol<AskLink>("nvmlDeviceGetNvLinkState"))
    for (unsigned link = 0; link < most_links; ++link)
      if (unsigned is_active = 0; ask(*handle, link, &is_active) == success) ++there, active += is_active != 0;
  if (there > 0) {
    found["nvlinks"] = number(there);
    found["nvlinks_active"] = number(active);
  }
  return found;
}

}  // namespace linkmatrix::cuda
