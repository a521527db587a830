#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "core/units.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/nvml_declarations.hpp"

// Constant facts of a device from NVML, and the processes that use it.
namespace linkmatrix::cuda {
namespace {

using namespace nvml;

// Further declarations of nvml.h.
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct Memory {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned memory_version = static_cast<unsigned>(sizeof(Memory)) | 2U << 24;
using MemoryInfo = int(Device, Memory*);
using AskTwo = int(Device, unsigned*, unsigned*);
struct ChipLinkMode {
  unsigned enabled;
};
using ChipLinkModeOf = int(Device, ChipLinkMode*);
using AskText = int(Device, char*, unsigned);
using AskCount = int(unsigned*);
using RunningProcesses = int(Device, unsigned*, ProcessInfo*);
using ProcessName = int(unsigned, char*, unsigned);

constexpr int insufficient_size = 7;
constexpr unsigned usual_processes = 64, most_processes = 4096;
constexpr unsigned long long not_available = ~0ULL;

struct Field {
  unsigned id, scope;
};
constexpr unsigned most_links_with_fields = 12;  // NVML has separate fields only for the first 12 links

/// Fields with the rate of a link, the newest first. The link is selected by the scope, or by a separate field per
/// link.
std::array<Field, 2> rate_fields(unsigned link) {
  constexpr unsigned by_number = 164, of_link_0 = 84, of_link_6 = 132, in_first_block = 6;
  return {{{by_number, link}, {link < in_first_block ? of_link_0 + link : of_link_6 + link - in_first_block, 0}}};
}

constexpr std::array<std::pair<const char*, const char*>, 4> part_texts{
    {{"serial", "nvmlDeviceGetSerial"},
     {"vbios", "nvmlDeviceGetVbiosVersion"},
     {"board", "nvmlDeviceGetBoardPartNumber"},
     {"firmware", "nvmlDeviceGetInforomImageVersion"}}};

constexpr const char* compute_processes = "nvmlDeviceGetComputeRunningProcesses_v3";
constexpr const char* graphics_processes = "nvmlDeviceGetGraphicsRunningProcesses_v3";

/// Returns the processes that a function of NVML lists; nothing if NVML refuses.
std::optional<std::vector<ProcessInfo>> running(RunningProcesses* ask, Device handle) {
  if (ask == nullptr) return std::nullopt;
  unsigned count = usual_processes;
  std::vector<ProcessInfo> infos(count);
  int answer = ask(handle, &count, infos.data());
  if (answer == insufficient_size) {
    infos.resize(count = std::min(2 * count, most_processes));  // processes may start during the call
    answer = ask(handle, &count, infos.data());
  }
  if (answer != success) return std::nullopt;
  infos.resize(std::min<std::size_t>(count, infos.size()));
  return infos;
}

std::string gibibytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", static_cast<double>(bytes) / static_cast<double>(GiB));
  return text.data();
}

}  // namespace

std::optional<double> Nvml::link_rate(const std::string& pci) const {
  const auto ask = symbol<FieldValues>("nvmlDeviceGetFieldValues");
  const auto handle = device(pci);
  if (ask == nullptr || !handle) return std::nullopt;
  for (unsigned link = 0; link < most_links_with_fields; ++link)
    for (const Field& field : rate_fields(link)) {
      FieldValue answer{};
      answer.field = field.id;
      answer.scope = field.scope;
      answer.status = -1;
      if (ask(*handle, 1, &answer) == success && answer.status == success && answer.value.whole > 0)
        return answer.value.whole * 1e-3;
    }
  return std::nullopt;
}

bool Nvml::has_chip_link(const std::string& pci) const {
  const auto ask = symbol<ChipLinkModeOf>("nvmlDeviceGetC2cModeInfoV");
  const auto handle = device(pci);
  ChipLinkMode mode{0};
  return ask != nullptr && handle && ask(*handle, &mode) == success && mode.enabled != 0;
}

int Nvml::device_count() const {
  const auto ask = symbol<AskCount>("nvmlDeviceGetCount_v2");
  unsigned count = 0;
  return ask != nullptr && ask(&count) == success ? static_cast<int>(count) : 0;
}

std::map<std::string, std::string> Nvml::part(const std::string& pci) const {
  std::map<std::string, std::string> found;
  const auto handle = device(pci);
  if (!handle) return found;
  for (const auto& [name, function] : part_texts) {
    const auto ask = symbol<AskText>(function);
    std::array<char, 96> text{};
    if (ask != nullptr && ask(*handle, text.data(), text.size()) == success && text.front() != 0)
      found[name] = text.data();
  }
  return found;
}

std::optional<unsigned> Nvml::module(const std::string& pci) const {
  const auto ask = symbol<AskNumber>("nvmlDeviceGetModuleId");
  const auto handle = device(pci);
  unsigned number = 0;
  if (ask == nullptr || !handle || ask(*handle, &number) != success) return std::nullopt;
  return number;
}

DeviceProcesses Nvml::processes(const std::string& pci) const {
  const auto ask_name = symbol<ProcessName>("nvmlSystemGetProcessName");
  const auto handle = device(pci);
  const auto infos = handle ? running(symbol<RunningProcesses>(compute_processes), *handle) : std::nullopt;
  if (!infos) return std::nullopt;
  std::vector<DeviceProcess> found;
  for (const ProcessInfo& info : *infos) {
    std::array<char, 256> name{};
    if (ask_name == nullptr || ask_name(info.pid, name.data(), name.size() - 1) != success) name.front() = 0;
    const std::string path(name.data());
    found.push_back({info.pid, path.substr(path.find_last_of('/') + 1), std::nullopt});
    if (info.bytes != not_available) found.back().bytes = info.bytes;
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return found;
}

std::optional<Nvml::MemoryBytes> Nvml::memory(Device handle) const {
  const auto ask = symbol<MemoryInfo>("nvmlDeviceGetMemoryInfo_v2");
  Memory memory{};
  memory.version = memory_version;
  if (ask == nullptr || ask(handle, &memory) != success) return std::nullopt;
  return MemoryBytes{memory.total, memory.used};
}

std::optional<std::uint64_t> Nvml::memory_total(const std::string& pci) const {
  const auto handle = device(pci);
  const auto bytes = handle ? memory(*handle) : std::nullopt;
  return bytes ? std::optional(bytes->total) : std::nullopt;
}

std::optional<std::uint64_t> Nvml::memory_used(const std::string& pci) const {
  const auto ask_mig = symbol<AskTwo>("nvmlDeviceGetMigMode");
  const auto handle = device(pci);
  if (!handle || has_chip_link(pci)) return std::nullopt;
  unsigned mig = 0, later = 0;
  if (ask_mig != nullptr && ask_mig(*handle, &mig, &later) == success && mig != 0) return std::nullopt;
  const auto bytes = memory(*handle);
  if (!bytes) return std::nullopt;
  const auto computing = running(symbol<RunningProcesses>(compute_processes), *handle);
  const auto drawing = running(symbol<RunningProcesses>(graphics_processes), *handle);
  std::uint64_t used = bytes->used;
  for (const ProcessInfo& info : drawing.value_or(std::vector<ProcessInfo>{}))
    if (info.bytes != not_available && computing &&
        std::ranges::find(*computing, info.pid, &ProcessInfo::pid) == computing->end())
      used -= std::min<std::uint64_t>(used, info.bytes);
  return used;
}

std::string Nvml::memory_holders(const std::string& pci) const {
  std::vector<std::string> holders;
  for (const DeviceProcess& process : processes(pci).value_or(std::vector<DeviceProcess>{}))
    holders.push_back("process " + std::to_string(process.pid) +
                      (process.name.empty() ? "" : " (" + process.name + ")") + " holds " +
                      (process.bytes ? gibibytes(*process.bytes) : "memory"));
  return join(holders);
}

}  // namespace linkmatrix::cuda
