#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/units.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/shared_memory.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t shared_size = 6 * MiB + 24;
constexpr std::uint64_t question = 11,
                        answer = 12;  // seeds of the patterns there and back
constexpr const char* handle_variable = "LINKMATRIX_TEST_HANDLE";

EndpointState endpoint_state_of(int ordinal) {
  EndpointState endpoint_state(describe_devices(std::array{ordinal}).front());
  endpoint_state.use();
  endpoint_state.make_counters();
  return endpoint_state;
}

void fill(EndpointState& endpoint_state, std::byte* memory, std::uint64_t seed) {
  launch_fill(memory, shared_size, seed, endpoint_state.lane(0).stream.get());
  check(cudaStreamSynchronize(endpoint_state.lane(0).stream.get()), endpoint_state.where(), "filling");
}

unsigned long long wrong_bytes(EndpointState& endpoint_state, const std::byte* memory, std::uint64_t seed) {
  CheckCounters found{0, ~0ull};
  check(cudaMemcpy(endpoint_state.check_counters(), &found, sizeof found, cudaMemcpyHostToDevice), "test",
        "cudaMemcpy");
  launch_check(memory, shared_size, seed, endpoint_state.check_counters(), endpoint_state.lane(0).stream.get());
  check(cudaStreamSynchronize(endpoint_state.lane(0).stream.get()), endpoint_state.where(), "comparing");
  check(cudaMemcpy(&found, endpoint_state.check_counters(), sizeof found, cudaMemcpyDeviceToHost), "test",
        "cudaMemcpy");
  return found.wrong_bytes;
}

/// Bytes as text that an environment variable can hold, and back.
std::string to_text(const ShareHandle& handle) {
  std::string text;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&handle);
  for (std::size_t i = 0; i < sizeof handle; ++i) {
    text += static_cast<char>('a' + bytes[i] / 16);
    text += static_cast<char>('a' + bytes[i] % 16);
  }
  return text;
}
ShareHandle from_text(const std::string& text) {
  ShareHandle handle;
  auto* bytes = reinterpret_cast<unsigned char*>(&handle);
  for (std::size_t i = 0; i < sizeof handle; ++i)
    bytes[i] = static_cast<unsigned char>((text.at(2 * i) - 'a') * 16 + text.at(2 * i + 1) - 'a');
  return handle;
}

int devices() {
  std::string reason;
  return visible_devices(reason);
}

/// Runs the test below in a process of its own: one that was forked from a
/// process with a context has none.
int run_other_process(const ShareHandle& handle) {
  ::setenv(handle_variable, to_text(handle).c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "native_tests", "--gtest_also_run_disabled_tests",
            "--gtest_filter=OtherProcess.DISABLED_OpensReadsAndWrites", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The other end of SharedMemory.IsReadAndWrittenByAnotherProcess: on the last
/// device, with kernels and the copy engine.
TEST(OtherProcess, DISABLED_OpensReadsAndWrites) {
  const char* const text = std::getenv(handle_variable);
  if (text == nullptr) GTEST_SKIP() << "is started by another test";
  const int ordinal = devices() - 1;
  EndpointState endpoint_state = endpoint_state_of(ordinal);
  const SharedMemory opened = SharedMemory::open(from_text(text), ordinal, endpoint_state.where());
  ASSERT_TRUE(opened);
  EXPECT_GE(opened.bytes(), shared_size);
  EXPECT_EQ(wrong_bytes(endpoint_state, opened.data(), question), 0u);
  const DeviceMemory own = make_device_memory(shared_size, endpoint_state.where());
  fill(endpoint_state, own.get(), answer);
  check(cudaMemcpy(opened.data(), own.get(), shared_size / 2, cudaMemcpyDefault), "test", "cudaMemcpy");
  check(cudaMemset(own.get(), 0, shared_size), "test", "cudaMemset");
  check(cudaMemcpy(own.get(), opened.data(), shared_size / 2, cudaMemcpyDefault), "test", "cudaMemcpy");
  fill(endpoint_state, opened.data(), answer);
  EXPECT_EQ(wrong_bytes(endpoint_state, opened.data(), answer), 0u);
}

class SharedMemoryTest : public testing::TestWithParam<HandleKind> {};

TEST_P(SharedMemoryTest, IsReadAndWrittenByAnotherProcess) {
  if (devices() == 0) GTEST_SKIP() << "no GPU";
  EndpointState endpoint_state = endpoint_state_of(0);
  if (const auto reason = why_no_handles(GetParam(), 0)) GTEST_SKIP() << *reason;
  const SharedMemory memory = SharedMemory::make(shared_size, GetParam(), 0, endpoint_state.where());
  for (int time = 0; time < 2; ++time) {  // what was opened and closed can be opened again
    fill(endpoint_state, memory.data(), question);
    ASSERT_EQ(run_other_process(memory.share()), 0);
    EXPECT_EQ(wrong_bytes(endpoint_state, memory.data(), answer), 0u);
  }
}

TEST_P(SharedMemoryTest, GivesItsBytesBack) {
  if (devices() == 0) GTEST_SKIP() << "no GPU";
  EndpointState endpoint_state = endpoint_state_of(0);
  if (const auto reason = why_no_handles(GetParam(), 0)) GTEST_SKIP() << *reason;
  std::size_t before = 0, after = 0, total = 0;
  check(cudaMemGetInfo(&before, &total), "test", "cudaMemGetInfo");
  for (int i = 0; i < 3; ++i) {
    const SharedMemory memory = SharedMemory::make(total / 2, GetParam(), 0, endpoint_state.where());
    EXPECT_TRUE(memory);
  }
  check(cudaMemGetInfo(&after, &total), "test", "cudaMemGetInfo");
  EXPECT_NEAR(static_cast<double>(after), static_cast<double>(before), 64.0 * MiB);
}

std::string name_of(const testing::TestParamInfo<HandleKind>& kind) {
  constexpr std::array names{"FileDescriptor", "Fabric", "CudaIpc"};
  return names.at(static_cast<std::size_t>(kind.param));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SharedMemoryTest, testing::Values(HandleKind::fd, HandleKind::fabric, HandleKind::ipc),
                         name_of);

}  // namespace
}  // namespace linkmatrix::cuda
