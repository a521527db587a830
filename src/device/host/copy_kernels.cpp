#include "device/host/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace linkmatrix {
namespace {

void copy_by_library(std::byte* destination, const std::byte* source, std::size_t bytes) {
  std::memcpy(destination, source, bytes);
}

constexpr std::size_t unroll = 8;

/// Loads eight words before it stores the first, so that the compiler does not replace the loop by memcpy.
void copy_cached(std::byte* destination, const std::byte* source, std::size_t bytes) {
  std::array<std::uint64_t, unroll> words;
  std::size_t at = 0;
  for (; at + sizeof words <= bytes; at += sizeof words) {
    std::memcpy(words.data(), source + at, sizeof words);
    asm volatile("" : : "r"(words.data()) : "memory");
    std::memcpy(destination + at, words.data(), sizeof words);
  }
  std::memcpy(destination + at, source + at, bytes - at);
}

#ifdef __x86_64__
/// Non-temporal stores begin at a multiple of 16 bytes; bytes before it go through the caches.
void copy_noncached(std::byte* destination, const std::byte* source, std::size_t bytes) {
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(destination) % sizeof(__m128i);
  std::size_t at = misaligned == 0 ? 0 : std::min(bytes, sizeof(__m128i) - misaligned);
  std::memcpy(destination, source, at);
  for (; at + sizeof(__m128i) <= bytes; at += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(destination + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at)));
  _mm_sfence();
  std::memcpy(destination + at, source + at, bytes - at);
}

void copy_bulk(std::byte* destination, const std::byte* source, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(bytes) : : "memory");
}
#else
constexpr HostCopy copy_noncached = copy_by_library, copy_bulk = copy_by_library;
#endif

}  // namespace

HostCopy host_copy(Engine engine, Kernel kernel) {
  if (engine != Engine::sm) return copy_by_library;
  switch (kernel) {
    case Kernel::cached:
      return copy_cached;
    case Kernel::noncached:
      return copy_noncached;
    case Kernel::bulk:
      return copy_bulk;
  }
  return copy_by_library;
}

}  // namespace linkmatrix
