#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/pattern.hpp"
#include "core/units.hpp"
#include "device/cuda/cuda_backend.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/endpoint_state.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t buffer_size = 3 * MiB + 5;

TEST(CudaBuffer, OfADeviceHoldsThePatternBeforeAnythingIsTimed) {
  if (const std::string why = linkmatrix::why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  EndpointState endpoint_state(describe_devices(std::array{0}).front());
  endpoint_state.use();
  Buffer buffer;
  buffer.reserve(endpoint_state.endpoint, buffer_size, {});
  std::vector<std::byte> seen(buffer_size);
  check(cudaMemcpy(seen.data(), buffer.data(), buffer_size, cudaMemcpyDeviceToHost), "test", "cudaMemcpy");
  EXPECT_EQ(check_pattern(seen.data(), 0, buffer_size, first_seed).wrong_bytes, 0u);
}

TEST(CudaBuffer, OfTheHostHoldsThePatternBeforeAnythingIsTimed) {
  Endpoint host;
  host.kind = EndpointKind::host;
  host.label = "numa0";
  Buffer buffer;
  buffer.reserve(host, buffer_size, {HostPages::pageable});
  EXPECT_EQ(check_pattern(buffer.data(), 0, buffer_size, first_seed).wrong_bytes, 0u);
}

}  // namespace
}  // namespace linkmatrix::cuda
