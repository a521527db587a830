#include "device/host/hot.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint32_t n = 128;  // a product takes a millisecond: so long a stop is not heard
constexpr std::uint64_t streamed = 4 * MiB;

}  // namespace

void keep_hot(Heated& heated, bool flip, const HostRun& run) {
  static const std::uint64_t expected = expected_sum(n);
  const std::vector<float> a = heating_matrix(1, n), b = heating_matrix(2, n);
  std::vector<float> product;
  std::vector<std::byte> from(streamed, std::byte{1}), to(streamed);
  do {
    multiply(a, b, n, product);
    if (flip && heated.products == 0) product[7] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(product[7]) ^ 1u);
    ++heated.products;
    heated.wrong += sum_of_bits(product) == expected ? 0 : 1;
    std::memcpy(to.data(), from.data(), streamed);
    asm volatile("" : : "r"(to.data()) : "memory");  // the stream is the purpose
  } while (!run.stop && !run.deadline.passed());
}

}  // namespace linkmatrix
