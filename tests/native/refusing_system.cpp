/// For LD_PRELOAD: FAILING_MALLOC_COUNT allocations fail, from number FAILING_MALLOC_AT on, as under a memory limit of
/// a cgroup or `ulimit -v`.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);

namespace {

std::atomic<long> seen{0}, threads{0};
long first = -1, count = 0, first_thread = -1;  // nothing is counted before the constructor has run

void take(const char* name, long& setting) {
  if (const char* const text = std::getenv(name)) setting = std::atol(text);
}

[[gnu::constructor]] void read_settings() {
  take("REFUSE_ALLOCATIONS", count);
  take("REFUSE_ALLOCATION", first);
  take("REFUSE_THREAD", first_thread);
}

bool fails() {
  if (first < 0) return false;
  const long number = ++seen;
  if (number < first || number >= first + count) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t items, std::size_t bytes) noexcept { return fails() ? nullptr : __libc_calloc(items, bytes); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (first_thread >= 0 && ++threads >= first_thread) return EAGAIN;
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}
}
