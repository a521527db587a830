#include "device/host/pages.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_pages = 256;  // that are asked for: a share is known to some percent then

/// The addresses of a line "7f12-7f34 rw-p 00000000 00:00 0", by which smaps begins each mapping.
std::optional<std::pair<std::uintptr_t, std::uintptr_t>> mapping_of(const std::string& line) {
  std::uintptr_t first = 0, last = 0;
  if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) != 2) return std::nullopt;
  return std::pair{first, last};
}

}  // namespace

std::optional<double> share_on_node(std::span<const std::byte> memory, int node) {
  if (memory.empty()) return std::nullopt;
  const std::size_t pages = std::clamp<std::size_t>(memory.size() / page_bytes, 1, most_pages);
  std::array<const void*, most_pages> at{};
  std::array<int, most_pages> nodes{};
  for (std::size_t i = 0; i < pages; ++i) at[i] = memory.data() + memory.size() / pages * i;
  // Without nodes to move to, the call only says where each page is. The C library has it in libnuma only.
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

}  // namespace linkmatrix
