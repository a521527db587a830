#include "device/host/memory.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// The system refuses memory although available_memory() suffices, such as beyond `ulimit -v`.
BadInput refused(std::uint64_t bytes, int error) {
  return BadInput("--size needs a buffer of " + format_size(bytes) +
                  " in host memory, but the system refuses the allocation (" + std::strerror(error) +
                  "): use a smaller --size, or raise `ulimit -v`");
}

BadInput too_large(std::uint64_t bytes) {
  return BadInput("--size needs a buffer of " + format_size(bytes) + " in host memory, but only " +
                  std::to_string(available_memory() / MiB) + " MiB are available: use a smaller --size");
}

constexpr std::size_t most_pages = 256;  // sampled pages: the fraction is known to some percent

/// Parses the addresses in the first line of a mapping in smaps: "7f12-7f34 rw-p 00000000 00:00 0".
std::optional<std::pair<std::uintptr_t, std::uintptr_t>> mapping_of(const std::string& line) {
  std::uintptr_t first = 0, last = 0;
  if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) != 2) return std::nullopt;
  return std::pair{first, last};
}

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Returns the number at the beginning of a file; nothing without a number ("max", no such file).
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::uint64_t number = 0;
  if (std::ifstream in(file); in >> number) return number;
  return std::nullopt;
}

/// Returns the number after a name in a file of names and numbers.
std::optional<std::uint64_t> number_of(const fs::path& file, std::string_view wanted) {
  std::ifstream in(file);
  std::string name, rest;
  for (std::uint64_t number = 0; in >> name >> number; std::getline(in, rest))
    if (name == wanted) return number;
  return std::nullopt;
}

/// File names of a version of control groups.
struct GroupFiles {
  std::array<std::string_view, 2> limits;  ///< hard limit, and limit beyond which the kernel slows processes down
  std::string_view used;
  std::string_view reclaimable;  ///< name in memory.stat of file pages that were not used recently
};

constexpr GroupFiles version_1{
    {"memory.limit_in_bytes", "memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{{"memory.max", "memory.high"}, "memory.current", "inactive_file"};

std::uint64_t available_in(const fs::path& group, const GroupFiles& files) {
  std::uint64_t limit = no_limit;
  for (const std::string_view name : files.limits) limit = std::min(limit, number_in(group / name).value_or(no_limit));
  const auto used = number_in(group / files.used);
  if (limit == no_limit || !used) return limit;
  const std::uint64_t kept = *used - std::min(*used, number_of(group / "memory.stat", files.reclaimable).value_or(0));
  return limit - std::min(limit, kept);
}

struct ControlGroup {
  fs::path folder;
  int version;  ///< 1 or 2; selects the file names
};

/// Parses a line of /proc/self/cgroup, "number:controllers:path".
std::vector<std::string> fields_of(const std::string& line) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

/// Returns the version if a line of /proc/self/cgroup is about the memory controller; else 0.
int version_of(const std::vector<std::string>& fields) {
  if (fields.size() != 3) return 0;
  if (fields[0] == "0" && fields[1].empty()) return 2;
  const auto controllers = split(fields[1], ',');
  return std::find(controllers.begin(), controllers.end(), "memory") != controllers.end() ? 1 : 0;
}

/// Returns the memory control groups of this process, the outermost first. In a container the path may be invisible.
/// The mounted folder is then the container's own group.
std::vector<ControlGroup> control_groups(const fs::path& root) {
  std::vector<ControlGroup> found;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto fields = fields_of(line);
    const int version = version_of(fields);
    if (version == 0) continue;
    fs::path folder = root / "sys/fs/cgroup";
    if (version == 1) folder /= "memory";
    found.push_back({folder, version});
    for (const auto& name : fs::path(fields[2]).relative_path()) found.push_back({folder /= name, version});
  }
  return found;
}

}  // namespace

HostMemory::HostMemory(std::uint64_t bytes, bool huge) {
  if (bytes > available_memory()) throw too_large(bytes);
  mapped_bytes_ = bytes + huge_page_bytes;
  mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw refused(bytes, errno);
  }
  ::madvise(mapped_, mapped_bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  // Aligned to huge pages, because rates differ by half between aligned and unaligned buffers.
  void* at = mapped_;
  std::size_t space = mapped_bytes_;
  data_ = static_cast<std::byte*>(std::align(huge_page_bytes, bytes, at, space));
  bytes_ = bytes;
}

HostMemory::~HostMemory() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

void touch_here(HostMemory& memory, std::uint64_t at, std::uint64_t bytes) {
  fill_pattern(memory.data(), at, bytes, first_seed);
}

void reserve_here(HostMemory& memory, std::uint64_t bytes, bool huge) {
  if (memory.bytes() >= bytes) return;
  memory = HostMemory();
  memory = HostMemory(bytes, huge);
  touch_here(memory, 0, bytes);
}

std::optional<double> share_on_node(std::span<const std::byte> memory, int node) {
  if (memory.empty()) return std::nullopt;
  const std::size_t pages = std::clamp<std::size_t>(memory.size() / page_bytes, 1, most_pages);
  std::array<const void*, most_pages> at{};
  std::array<int, most_pages> nodes{};
  for (std::size_t i = 0; i < pages; ++i) at[i] = memory.data() + memory.size() / pages * i;
  // Without target nodes, the call only reports the node of each page. Only libnuma provides a function for this call.
  if (::syscall(SYS_move_pages, 0, pages, at.data(), nullptr, nodes.data(), 0) != 0) return std::nullopt;
  const auto there = std::count(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(pages), node);
  return static_cast<double>(there) / static_cast<double>(pages);
}

std::optional<std::uint64_t> huge_bytes(std::istream& smaps, std::span<const std::span<const std::byte>> memories) {
  std::optional<std::uint64_t> bytes;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (const auto mapping = mapping_of(line)) {
      ours = std::any_of(memories.begin(), memories.end(), [&](const auto& memory) {
        const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
        return first < mapping->second && first + memory.size() > mapping->first;
      });
      if (ours && !bytes) bytes = 0;
    }
    std::uint64_t kilobytes = 0;
    if (ours && std::sscanf(line.c_str(), "AnonHugePages: %" SCNu64 " kB", &kilobytes) == 1) *bytes += kilobytes * KiB;
  }
  return bytes;
}

std::string huge_page_setting() {
  std::string setting;
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::getline(in, setting);
  return setting;
}

std::uint64_t available_memory(const fs::path& root) {
  const auto kilobytes = number_of(root / "proc/meminfo", "MemAvailable:");
  std::uint64_t least = kilobytes ? *kilobytes * KiB : no_limit;
  for (const auto& [folder, version] : control_groups(root))
    least = std::min(least, available_in(folder, version == 1 ? version_1 : version_2));
  return least;
}

}  // namespace linkmatrix
