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
#include <memory>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "core/units.hpp"
#include "device/host/available_memory.hpp"

namespace linkmatrix {
namespace {

/// A limit of the process that the memory of the machine does not show.
BadInput not_given(std::uint64_t bytes, int error) {
  return BadInput("--size needs a buffer of " + format_size(bytes) + " in host memory, and the system refuses it (" +
                  std::strerror(error) + "): use a smaller --size, or raise `ulimit -v`");
}

BadInput too_large(std::uint64_t bytes) {
  return BadInput("--size needs a buffer of " + format_size(bytes) + " in host memory, and " +
                  std::to_string(available_memory() / MiB) + " MiB are available: use a smaller --size");
}

constexpr std::size_t most_pages = 256;  // that are asked for: a share is known to some percent then

/// Parses the addresses of a line "7f12-7f34 rw-p 00000000 00:00 0", with which smaps begins each mapping.
std::optional<std::pair<std::uintptr_t, std::uintptr_t>> mapping_of(const std::string& line) {
  std::uintptr_t first = 0, last = 0;
  if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) != 2) return std::nullopt;
  return std::pair{first, last};
}

}  // namespace

HostMemory::HostMemory(std::uint64_t bytes, bool huge) {
  if (bytes > available_memory()) throw too_large(bytes);
  mapped_bytes_ = bytes + huge_page_bytes;
  mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw not_given(bytes, errno);
  }
  ::madvise(mapped_, mapped_bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  // On a boundary of huge pages: two buffers that differ in it differ by half in their rate.
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
  // Without target nodes, the call only reports the node of each page. The C library has it only in libnuma.
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
