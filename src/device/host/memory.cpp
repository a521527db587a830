#include "device/host/memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "core/units.hpp"
#include "device/host/available_memory.hpp"

namespace linkmatrix {
namespace {

/// Of what would fit: a limit of the process, which no figure of the machine shows.
BadInput not_given(std::uint64_t bytes, int error) {
  return BadInput("--size needs a buffer of " + format_size(bytes) +
                  " in host memory, which the system does not give (" + std::strerror(error) +
                  "): use a smaller --size, or raise `ulimit -v`");
}

BadInput too_large(std::uint64_t bytes) {
  return BadInput("--size needs a buffer of " + format_size(bytes) + " in host memory, where " +
                  std::to_string(available_memory() / MiB) + " MiB are available: use a smaller --size");
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

}  // namespace linkmatrix
