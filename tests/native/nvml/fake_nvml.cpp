// A driver's management library whose answers are lines of the file that LINKMATRIX_REPLAYED_NVML names:
//
//   nvmlDeviceGetEccMode = 0 1 1          status, and what it fills in, in the order of its arguments
//   field 138 = 0 3 123456                status, type of the value, value
//   process 2983 = hog 1073741824         name and memory
//   drawing 900 = Xorg 1073741824         the same of a process that only draws
//   memory = 0 1073741824                 status, and bytes in use without those that are reserved
//   memory_total = 0 85899345920          status, and bytes of the device
//   gpu 1 = 15                            status of the device with this number, where it is not success
//   utilization 2983 = 5000000 75 25      time, sm and memory in percent
//   fabric = 0 3 0 7 0                    status of the call; state, status, clique, health mask
//   fabric_cluster = 0 18 52              the same; the first two bytes of the cluster's UUID
//   ecc 1 = 0 2                           status and count; 0: corrected, 1: uncorrected
//   nvlink 3 0 = 0 17                     the same of a link and a kind of its errors
//   xid 1 = 79                            number of the event; each comes once, in the order of the first number
//
// What the file does not have is not supported. It is read anew by each question.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int success = 0, not_supported = 3, insufficient_size = 7;

std::map<std::string, std::vector<std::string>> answers() {
  std::map<std::string, std::vector<std::string>> found;
  const char* const file = std::getenv("LINKMATRIX_REPLAYED_NVML");
  std::ifstream in(file == nullptr ? "" : file);
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find(" = ");
    if (line.empty() || line.front() == '#' || equals == std::string::npos) continue;
    std::istringstream rest(line.substr(equals + 3));
    for (std::string word; rest >> word;) found[line.substr(0, equals)].push_back(word);
  }
  return found;
}

/// Returns the number at the beginning of a word; 0 without a number or without the word.
unsigned long long number(const std::vector<std::string>& words, std::size_t at) {
  return at < words.size() ? std::strtoull(words[at].c_str(), nullptr, 10) : 0;
}

/// Returns the status, and stores the following numbers on success.
int answer(const std::string& question, std::initializer_list<unsigned*> outputs) {
  const auto all = answers();
  const auto known = all.find(question);
  if (known == all.end()) return not_supported;
  std::size_t at = 1;
  for (unsigned* output : outputs)
    if (at < known->second.size()) *output = static_cast<unsigned>(number(known->second, at++));
  return static_cast<int>(number(known->second, 0));
}

/// Returns (number, words) of the lines of a type.
std::vector<std::pair<unsigned, std::vector<std::string>>> numbered(const std::string& kind) {
  std::vector<std::pair<unsigned, std::vector<std::string>>> found;
  for (const auto& [question, words] : answers())
    if (question.starts_with(kind + " "))
      found.emplace_back(static_cast<unsigned>(number({question.substr(kind.size() + 1)}, 0)), words);
  return found;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return success; }
int nvmlShutdown() { return success; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  static char one = 0;
  *device = &one;
  return std::strlen(pci) > 0 ? success : not_supported;
}

static char some[8] = {};
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &some[index % std::size(some)];
  const auto all = answers();
  const auto known = all.find("gpu " + std::to_string(index));
  return known == all.end() ? success : static_cast<int>(number(known->second, 0));
}
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, subsystem_id;
  char id[32];
};
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  std::strncpy(info->id, "00000000:1B:00.0", sizeof(info->id));
  info->id[10] = static_cast<char>('B' + (static_cast<char*>(device) - some));  // "1B", "1C" …
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) { return answer("nvmlDeviceGetCount_v2", {count}); }

struct Memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ChipLinkMode {
  unsigned enabled;
};
int nvmlDeviceGetC2cModeInfoV(void*, ChipLinkMode* mode) {
  return answer("nvmlDeviceGetC2cModeInfoV", {&mode->enabled});
}

#define NUMBER(function) \
  int function(void*, unsigned* value) { return answer(#function, {value}); }
NUMBER(nvmlDeviceGetPowerManagementLimit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit)
NUMBER(nvmlDeviceGetEnforcedPowerLimit)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus)
NUMBER(nvmlDeviceGetComputeMode)
NUMBER(nvmlDeviceGetPersistenceMode)
NUMBER(nvmlDeviceGetPcieReplayCounter)

int nvmlDeviceGetMaxClockInfo(void*, int kind, unsigned* value) {
  return answer("nvmlDeviceGetMaxClockInfo " + std::to_string(kind), {value});
}
int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* later) { return answer("nvmlDeviceGetEccMode", {now, later}); }
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) { return answer("nvmlDeviceGetMigMode", {now, later}); }
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  return answer("nvmlDeviceGetRemappedRows", {corrected, uncorrected, pending, failed});
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  return answer("nvmlDeviceGetNvLinkState " + std::to_string(link), {active});
}

/// Returns the status, and stores the following count on success.
int counted(const std::string& question, unsigned long long* count) {
  const auto all = answers();
  const auto known = all.find(question);
  if (known == all.end()) return not_supported;
  *count = number(known->second, 1);
  return static_cast<int>(number(known->second, 0));
}
int nvmlDeviceGetTotalEccErrors(void*, int kind, int, unsigned long long* count) {
  return counted("ecc " + std::to_string(kind), count);
}
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, int kind, unsigned long long* count) {
  return counted("nvlink " + std::to_string(link) + " " + std::to_string(kind), count);
}
int nvmlDeviceGetMemoryInfo_v2(void*, Memory* memory) {
  constexpr unsigned version_2 = static_cast<unsigned>(sizeof(Memory)) | 2U << 24;
  constexpr unsigned long long reserved = 600ULL << 20;
  if (memory->version != version_2) return not_supported;
  memory->reserved = reserved;
  counted("memory_total", &memory->total);
  return counted("memory", &memory->used);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) { return counted("throttled", bits); }

struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static std::size_t events_taken = 0;
int nvmlEventSetCreate(void** set) {
  events_taken = 0;
  *set = &events_taken;
  return success;
}
int nvmlEventSetFree(void*) { return success; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return answer("nvmlDeviceRegisterEvents", {}); }
int nvmlEventSetWait_v2(void*, EventData* event, unsigned) {
  constexpr int timeout = 10;
  constexpr unsigned long long of_xids = 8;
  const auto known = numbered("xid");
  if (events_taken >= known.size()) return timeout;
  void* device = nullptr;
  nvmlDeviceGetHandleByPciBusId_v2("any", &device);
  *event = {device, of_xids, number(known[events_taken++].second, 0), 0, 0};
  return success;
}

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
int nvmlDeviceGetGpuFabricInfoV(void*, FabricInfo* info) {
  constexpr unsigned version_2 = static_cast<unsigned>(sizeof(FabricInfo)) | 2U << 24;
  if (info->version != version_2) return not_supported;
  unsigned state = 0, status = 0;
  const int said = answer("fabric", {&state, &status, &info->clique, &info->health});
  unsigned first = 0, second = 0;
  if (answer("fabric_cluster", {&first, &second}) == success) {
    info->cluster[0] = static_cast<unsigned char>(first);
    info->cluster[1] = static_cast<unsigned char>(second);
  }
  info->state = static_cast<unsigned char>(state);
  info->status = static_cast<int>(status);
  return said;
}

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int value_type, status;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    const auto all = answers();
    const auto known = all.find("field " + std::to_string(values[i].field));
    values[i].status = known == all.end() ? not_supported : static_cast<int>(number(known->second, 0));
    if (known == all.end()) continue;
    values[i].value_type = static_cast<int>(number(known->second, 1));
    values[i].value = number(known->second, 2);
  }
  return success;
}

struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
int list(const std::string& kind, unsigned* count, ProcessInfo* infos) {
  const auto all = answers();
  if (!all.contains("processes")) return not_supported;
  const auto known = numbered(kind);
  const bool has_room = known.size() <= *count;
  *count = static_cast<unsigned>(known.size());
  if (!has_room) return insufficient_size;
  for (std::size_t i = 0; i < known.size(); ++i) infos[i] = {known[i].first, number(known[i].second, 1), 0, 0};
  return success;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("process", count, infos);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("drawing", count, infos);
}
int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  for (const auto& [known, words] : numbered("process"))
    if (known == pid) {
      std::strncpy(name, (words.empty() ? "" : words[0].c_str()), length);
      return success;
    }
  return not_supported;
}
}
