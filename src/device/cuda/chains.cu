#include <algorithm>
#include <array>

#include "device/cuda/chains.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/timer.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t ring_stride = 512;  // bytes between pointers: separate cache lines, 4096 pointers in 2 MiB

/// Node i points to node (a i + c) mod n. With n a power of two, a ≡ 1 mod 4 and c odd, this is one cycle through all
/// nodes (Hull & Dobell, 1962).
__global__ void ring_kernel(std::byte* memory, std::uint64_t nodes) {
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (me >= nodes) return;
  const std::uint64_t next = (me * 1229 + 351) & (nodes - 1);
  *reinterpret_cast<std::byte**>(memory + me * ring_stride) = memory + next * ring_stride;
}

constexpr int warm_loads = 8;              // untimed loads per multiprocessor, which load its page table entries
constexpr std::uint64_t least_loads = 32;  // timed loads per multiprocessor; short samples use fewer multiprocessors

/// One thread per multiprocessor follows the ring, one multiprocessor after the other, because their latencies differ
/// by up to 10 %. The device's clock times only the loads. Its coarse ticks average out over many loads.
__global__ void chase_kernel(const std::byte* ring, std::uint64_t loads_each, ChaseState* state) {
  while (atomicAdd(&state->turn, 0u) != blockIdx.x) {
  }
  auto at = reinterpret_cast<unsigned long long>(ring);
  // volatile loads bypass L1, because another device may write the memory
  const auto follow = [&at](std::uint64_t loads) {
    for (std::uint64_t i = 0; i < loads; ++i) at = *reinterpret_cast<const volatile unsigned long long*>(at);
    if (at == 0) __trap();  // waits for the last load before the clock is read
  };
  follow(warm_loads);
  const std::uint64_t start = nanoseconds();
  follow(loads_each);
  const unsigned long long took = nanoseconds() - start;
  if (blockIdx.x == 0)
    atomicExch(&state->nanoseconds, took);
  else
    atomicAdd(&state->nanoseconds, took);
  __threadfence();
  atomicExch(&state->turn, blockIdx.x + 1 == gridDim.x ? 0u : blockIdx.x + 1);
}

__global__ void atomics_kernel(unsigned long long* word, std::uint64_t additions, unsigned long long* sink) {
  unsigned long long last = 0;
  // Each addend depends on the last result, so that no two additions overlap.
  for (std::uint64_t i = 0; i < additions; ++i) last = atomicAdd_system(word, 1 + (last & 1));
  *sink = last;
}

/// Waits for `value` at a word. Returns false after the time limit.
__device__ bool arrives(const volatile unsigned long long* word, std::uint64_t value, std::uint64_t deadline) {
  while (*word < value)
    if (nanoseconds() > deadline) return false;
  return true;
}

__global__ void flag_kernel(volatile unsigned long long* theirs, const volatile unsigned long long* mine, bool begins,
                            std::uint64_t rounds, unsigned* timed_out, std::uint64_t timeout_ns) {
  const std::uint64_t deadline = nanoseconds() + timeout_ns;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    if (begins) *theirs = i;
    if (!arrives(mine, i, deadline)) {
      *timed_out = 1;
      return;
    }
    if (!begins) *theirs = i;
  }
}

/// Called by all threads of the block.
__device__ void copy_message(const Messages& messages) {
  const auto misplaced = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(uint4); };
  const bool whole = misplaced(messages.theirs) == 0 && misplaced(messages.message) == 0;
  const std::uint64_t vectors = whole ? messages.bytes / sizeof(uint4) : 0;
  for (std::uint64_t i = threadIdx.x; i < vectors; i += blockDim.x)
    reinterpret_cast<uint4*>(messages.theirs)[i] = reinterpret_cast<const uint4*>(messages.message)[i];
  for (std::uint64_t i = vectors * sizeof(uint4) + threadIdx.x; i < messages.bytes; i += blockDim.x)
    messages.theirs[i] = messages.message[i];
}

/// Sends the message, then a system-wide fence, then the word.
__device__ void send_message(const Messages& messages, std::uint64_t number) {
  copy_message(messages);
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *reinterpret_cast<volatile unsigned long long*>(messages.their_word) = number;
}

__device__ bool message_arrives(const Messages& messages, std::uint64_t number, std::uint64_t deadline) {
  __shared__ bool here;
  if (threadIdx.x == 0)
    here = arrives(reinterpret_cast<const volatile unsigned long long*>(messages.my_word), number, deadline);
  __syncthreads();
  const bool answer = here;
  __syncthreads();
  return answer;
}

__global__ void ping_pong_kernel(Messages messages, bool begins, std::uint64_t rounds, PingPongState* state,
                                 std::uint64_t timeout_ns) {
  const std::uint64_t deadline = nanoseconds() + timeout_ns;
  std::uint64_t start = 0;
  for (std::uint64_t number = 1; number <= rounds + 1; ++number) {
    if (begins) send_message(messages, number);
    if (!message_arrives(messages, number, deadline)) {
      if (threadIdx.x == 0) state->timed_out = 1;
      return;
    }
    if (!begins) send_message(messages, number);
    if (number == 1) start = nanoseconds();
  }
  if (threadIdx.x == 0) state->nanoseconds = nanoseconds() - start;
}

constexpr std::uint64_t bytes_of_thread = 64;  // message bytes per thread; determines the number of warps
constexpr int warp = 32, most_threads = 1024;

unsigned long long* word_at(std::byte* memory) { return reinterpret_cast<unsigned long long*>(memory); }

}  // namespace

void launch_ring(std::byte* memory, std::uint64_t bytes, cudaStream_t stream) {
  std::uint64_t nodes = 1;
  while (2 * nodes * ring_stride <= bytes) nodes *= 2;
  ring_kernel<<<static_cast<unsigned>((nodes + 255) / 256), 256, 0, stream>>>(memory, nodes);
  check_launch("ring kernel");
}

std::uint64_t launch_chase(const std::byte* ring, std::uint64_t loads, ChaseState* state, cudaStream_t stream) {
  int device = 0, multiprocessors = 1;
  check(cudaGetDevice(&device), "chase kernel", "cudaGetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "chase kernel",
        "cudaDeviceGetAttribute");
  const std::uint64_t blocks =
      std::clamp(loads / least_loads, std::uint64_t{1}, static_cast<std::uint64_t>(multiprocessors));
  const std::uint64_t each = (loads + blocks - 1) / blocks;
  chase_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(ring, each, state);
  check_launch("chase kernel");
  return each * blocks;
}

void launch_atomics(std::byte* memory, std::uint64_t additions, unsigned long long* sink, cudaStream_t stream) {
  atomics_kernel<<<1, 1, 0, stream>>>(word_at(memory), additions, sink);
  check_launch("atomics kernel");
}

void launch_flag(std::byte* theirs, std::byte* mine, bool begins, std::uint64_t rounds, unsigned* timed_out,
                 std::uint64_t timeout_ns, cudaStream_t stream) {
  flag_kernel<<<1, 1, 0, stream>>>(word_at(theirs), word_at(mine), begins, rounds, timed_out, timeout_ns);
  check_launch("flag kernel");
}

void launch_ping_pong(const Messages& messages, bool begins, std::uint64_t rounds, PingPongState* state,
                      std::uint64_t timeout_ns, cudaStream_t stream) {
  std::uint64_t threads = warp;
  while (threads < most_threads && threads * bytes_of_thread < messages.bytes) threads *= 2;
  ping_pong_kernel<<<1, static_cast<unsigned>(threads), 0, stream>>>(messages, begins, rounds, state, timeout_ns);
  check_launch("ping-pong kernel");
}

void load_chain_kernels() {
  cudaFuncAttributes attributes;
  const std::array kernels{reinterpret_cast<const void*>(ring_kernel), reinterpret_cast<const void*>(chase_kernel),
                           reinterpret_cast<const void*>(atomics_kernel), reinterpret_cast<const void*>(flag_kernel),
                           reinterpret_cast<const void*>(ping_pong_kernel)};
  for (const void* kernel : kernels)
    check(cudaFuncGetAttributes(&attributes, kernel), "kernels", "cudaFuncGetAttributes");
}

}  // namespace linkmatrix::cuda
