/// To be preloaded: of all allocations, from number FAILING_MALLOC_AT on FAILING_MALLOC_COUNT fail, as where a cgroup
/// or `ulimit -v` gives no more.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);

namespace {

std::atomic<long> seen{0};
long first = -1, count = 0;  // no allocation is counted before the constructor has run

[[gnu::constructor]] void read_settings() {
  const char* const at = std::getenv("FAILING_MALLOC_AT");
  const char* const many = std::getenv("FAILING_MALLOC_COUNT");
  if (many != nullptr) count = std::atol(many);
  if (at != nullptr) first = std::atol(at);
}

bool fails() {
  if (first < 0) return false;
  const long number = ++seen;
  if (number < first || number >= first + count) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void* malloc(std::size_t bytes) noexcept { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t items, std::size_t bytes) noexcept { return fails() ? nullptr : __libc_calloc(items, bytes); }
}
