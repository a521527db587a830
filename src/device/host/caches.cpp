#include "device/host/caches.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "core/units.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t least_copy = 128 * MiB, least_chase = 256 * MiB;
constexpr std::uint64_t buffers_of_all = 64;  // more than the buffers of eight devices and host memory

std::string word_of(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

/// Returns the bytes of "32768K"; 0 for other texts.
std::uint64_t bytes_of(const std::string& size) {
  char* unit = nullptr;
  const std::uint64_t number = std::strtoull(size.c_str(), &unit, 10);
  static const std::map<std::string, std::uint64_t> units{{"", 1}, {"K", KiB}, {"M", MiB}, {"G", GiB}};
  const auto known = units.find(unit);
  return known == units.end() ? 0 : number * known->second;
}

bool is_core(const std::string& name) {
  return name.starts_with("cpu") && name.size() > 3 && name.find_first_not_of("0123456789", 3) == std::string::npos;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

LastLevelCaches last_level_caches(const fs::path& root) {
  std::map<std::string, std::uint64_t> instances;  // list of sharing cores → size
  std::error_code none;
  for (const auto& core : fs::directory_iterator(root / "sys/devices/system/cpu", none)) {
    if (!is_core(core.path().filename().string())) continue;
    int last_level = 0;
    std::pair<std::string, std::uint64_t> last;
    for (const auto& cache : fs::directory_iterator(core.path() / "cache", none)) {
      const int level = std::atoi(word_of(cache.path() / "level").c_str());
      if (level <= last_level || word_of(cache.path() / "type") == "Instruction") continue;
      last_level = level;
      last = {word_of(cache.path() / "shared_cpu_list"), bytes_of(word_of(cache.path() / "size"))};
    }
    if (last_level > 0) instances.insert(last);
  }
  LastLevelCaches caches;
  for (const auto& [cores, bytes] : instances) {
    caches.largest = std::max(caches.largest, bytes);
    caches.all += bytes;
  }
  return caches;
}

WorkingSet working_set(const LastLevelCaches& caches, std::uint64_t available) {
  const std::uint64_t most = available / buffers_of_all;
  const std::uint64_t copy = std::max(least_copy, rounded_up(2 * caches.all, 64 * MiB));
  const std::uint64_t chase = std::max(least_chase, std::bit_ceil(8 * caches.largest));
  WorkingSet set;
  set.copy = std::max(least_copy, std::min(copy, most / (64 * MiB) * (64 * MiB)));
  set.chase = std::max(least_chase, std::min(chase, std::bit_floor(most)));
  set.is_memory_short = set.copy < copy || set.chase < chase;
  return set;
}

const WorkingSet& own_working_set() {
  static const WorkingSet set = working_set(last_level_caches(), available_memory());
  return set;
}

}  // namespace linkmatrix
