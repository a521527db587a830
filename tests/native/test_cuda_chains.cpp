#include <gtest/gtest.h>

#include <array>

#include "core/units.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/endpoint_state.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t room = MiB, rounds = 100, patience_ns = 5'000'000'000;
constexpr std::byte poisoned{0xAA};

/// One endpoint of a ping-pong: its message, the place for the other message, and its word.
struct End {
  explicit End(int ordinal) : endpoint_state{describe_devices(std::array{ordinal}).front()} {
    endpoint_state.use();
    memory = make_device_memory(2 * room + 16, endpoint_state.where());
    state = make_device_memory(sizeof(PingPongState), endpoint_state.where());
    check(cudaMemset(state.get(), 0, sizeof(PingPongState)), "test", "cudaMemset");
    check(cudaMemset(memory.get(), 0, 2 * room + 16), "test", "cudaMemset");
    check(cudaMemset(arrived(), static_cast<int>(poisoned), room), "test", "cudaMemset");
  }
  std::byte* message() const { return memory.get(); }
  std::byte* arrived() const { return memory.get() + room; }
  std::byte* word() const { return memory.get() + 2 * room; }
  cudaStream_t stream() { return endpoint_state.lane(0).stream.get(); }

  EndpointState endpoint_state;
  DeviceMemory memory, state;
};

void launch(End& here, const End& there, std::uint64_t offset, std::uint64_t bytes, bool begins) {
  here.endpoint_state.use();
  launch_ping_pong({.theirs = there.arrived() + offset,
                    .message = here.message() + offset,
                    .bytes = bytes,
                    .their_word = there.word(),
                    .my_word = here.word()},
                   begins, rounds, reinterpret_cast<PingPongState*>(here.state.get()), patience_ns, here.stream());
}

PingPongState result(End& end) {
  end.endpoint_state.use();
  check(cudaStreamSynchronize(end.stream()), "test", "cudaStreamSynchronize");
  PingPongState state{};
  check(cudaMemcpy(&state, end.state.get(), sizeof state, cudaMemcpyDeviceToHost), "test", "cudaMemcpy");
  return state;
}

std::vector<std::byte> what_arrived(const End& end) {
  std::vector<std::byte> bytes(room);
  check(cudaMemcpy(bytes.data(), end.arrived(), room, cudaMemcpyDeviceToHost), "test", "cudaMemcpy");
  return bytes;
}

/// Ping-pong between two devices with peer access, or inside one device.
class PingPong : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    const int devices = visible_devices(reason);
    if (devices == 0) GTEST_SKIP() << "no GPU";
    load_chain_kernels();
    int there = 0, back = 0;
    if (devices > 1) cudaDeviceCanAccessPeer(&there, 0, 1), cudaDeviceCanAccessPeer(&back, 1, 0);
    second_ = there != 0 && back != 0 ? 1 : 0;
    for (int ordinal = 0; ordinal < 1 + second_; ++ordinal) {
      use(ordinal, "test");
      load_chain_kernels();
      if (second_ != 0 && cudaDeviceEnablePeerAccess(1 - ordinal, 0) != cudaSuccess) cudaGetLastError();
    }
  }
  void TearDown() override {
    for (int ordinal = 0; second_ != 0 && ordinal < 2; ++ordinal)
      if (cudaSetDevice(ordinal) == cudaSuccess) cudaDeviceDisablePeerAccess(1 - ordinal);
  }

  int second_ = 0;
};

TEST_F(PingPong, CarriesTheWholeMessageAndTimesIt) {
  for (const std::uint64_t offset : {0u, 3u})
    for (const std::uint64_t bytes : {0u, 1u, 16u, 1000u, 262144u}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes at " << offset);
      End first(0), second(second_);
      first.endpoint_state.use();
      if (bytes > 0) launch_fill(first.message() + offset, bytes, 5, first.stream());
      check(cudaStreamSynchronize(first.stream()), "test", "filling");
      launch(first, second, offset, bytes, true);
      launch(second, first, offset, bytes, false);
      const PingPongState there = result(first), back = result(second);
      EXPECT_EQ(there.timed_out + back.timed_out, 0u);
      EXPECT_GT(there.nanoseconds, rounds * 100) << "a round trip cannot be that short";
      const auto arrived = what_arrived(second);
      for (std::uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(arrived[offset + i], pattern_byte(5, i)) << i;
      EXPECT_EQ(arrived[offset + bytes], poisoned);
    }
}

TEST_F(PingPong, GivesUpWhereNobodyAnswers) {
  End alone(0);
  alone.endpoint_state.use();
  launch_ping_pong({.theirs = alone.arrived(),
                    .message = alone.message(),
                    .bytes = 8,
                    .their_word = alone.word() + 8,
                    .my_word = alone.word()},
                   true, 1, reinterpret_cast<PingPongState*>(alone.state.get()), 10'000'000, alone.stream());
  EXPECT_NE(result(alone).timed_out, 0u);
}

}  // namespace
}  // namespace linkmatrix::cuda
