#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "core/pattern.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/timer.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int unroll = 8;  // independent 16-byte loads per thread

constexpr int bulk_stages = 8;  // number of chunks in shared memory

/// Order in which bulk copies traverse the buffers.
struct BulkPath {
  std::uint32_t chunk;  ///< bytes per bulk copy
  bool contiguous;      ///< true: each block has its own piece of the buffer; false: chunks are interleaved

  std::size_t shared() const { return bulk_stages * (chunk + sizeof(std::uint64_t)); }
};
constexpr BulkPath turns{16 * 1024, false}, pieces{8 * 1024, true};
constexpr int blocks_of_pieces = 16;

/// Measured on two H200 over NVLink 4, 2026-11-21: 16 blocks write 371.8 GB/s with contiguous pieces (a power of two
/// apart) and 350 GB/s interleaved. For other numbers of blocks, and for reads, interleaving is as fast or faster.
BulkPath bulk_path(Direction direction, int blocks) {
  return direction == Direction::write && blocks == blocks_of_pieces ? pieces : turns;
}

struct Shape {
  int blocks, threads;
};

// The best of 460 shapes on two H200 over NVLink 4, 512 MiB, 2026-11-21: write 371.4 GB/s with 1056 × 1024, read 376.0
// with 132 × 1024; bulk writes 372.0 with 264 blocks and reads 376.4 with 32. Packets of 128 bytes limit all of them.
// Host memory: few blocks fill the path, and two concurrent kernels must fit on the device.
constexpr Shape shape_of(Kernel kernel, Direction direction, bool host_memory) {
  if (kernel == Kernel::bulk) return direction == Direction::write ? Shape{264, 32} : Shape{32, 32};
  if (host_memory) return {128, 256};
  return direction == Direction::write ? Shape{1056, 1024} : Shape{132, 1024};
}

/// Returns the requested shape, or the tuned one. Omits blocks without work, because they would dominate the latency of
/// a small copy.
Shape shape_for(const KernelCopy& copy, Kernel kernel) {
  Shape shape = shape_of(kernel, copy.direction, copy.host_memory);
  if (copy.blocks > 0) shape.blocks = copy.blocks;
  if (copy.threads > 0) shape.threads = copy.threads;
  const std::uint64_t tile =
      kernel == Kernel::bulk ? turns.chunk : static_cast<std::uint64_t>(shape.threads) * unroll * sizeof(uint4);
  shape.blocks = static_cast<int>(
      std::clamp<std::uint64_t>((copy.bytes + tile - 1) / tile, 1, static_cast<std::uint64_t>(shape.blocks)));
  return shape;
}

__global__ void gate_kernel(const volatile unsigned* released, unsigned generation, volatile GateSlot* slot,
                            std::uint64_t timeout_ns) {
  const std::uint64_t start = nanoseconds();
  std::uint64_t last_closed = start;
  slot->armed = generation;
  __threadfence_system();
  for (;;) {
    const std::uint64_t before = nanoseconds();
    const bool is_open = *released >= generation;
    const std::uint64_t after = nanoseconds();
    if (is_open) {
      slot->sight_nanoseconds = after - last_closed;
      return;
    }
    last_closed = before;
    if (after - start > timeout_ns) {
      slot->timed_out = 1;
      return;
    }
  }
}

struct Cached {
  static __device__ uint4 load(const uint4* from) { return *from; }
  static __device__ void store(uint4* to, uint4 value) { *to = value; }
};
struct NonCached {
  static __device__ uint4 load(const uint4* from) { return __ldcg(from); }
  static __device__ void store(uint4* to, uint4 value) { __stcg(to, value); }
};

/// Splits a copy into whole vectors of 16 bytes and the bytes before and after them (edges).
struct Body {
  std::uint64_t begin, bytes;
};

__device__ Body body_of(const std::byte* destination, std::uint64_t bytes) {
  const auto misaligned = static_cast<std::uint64_t>(-reinterpret_cast<std::intptr_t>(destination)) % sizeof(uint4);
  const std::uint64_t begin = min(static_cast<std::uint64_t>(misaligned), bytes);
  return {begin, (bytes - begin) / sizeof(uint4) * sizeof(uint4)};
}

__device__ void copy_edges(std::byte* destination, const std::byte* source, std::uint64_t bytes, Body body) {
  if (blockIdx.x != 0) return;
  const std::uint64_t at = threadIdx.x, after = body.begin + body.bytes + at;
  if (at < body.begin) destination[at] = source[at];
  if (after < bytes) destination[after] = source[after];
}

/// Each block copies tiles of blockDim × unroll vectors. Each thread issues `unroll` loads before its first store. In
/// each repeat a block takes the tiles of its neighbour, which ran on another multiprocessor. Otherwise its L1 cache
/// would answer cached loads instead of the link (on H200, L1 caches hold 33 MB, and 32 MiB were read at 474 GB/s).
template <class Access>
__global__ void copy_kernel(std::byte* destination, const std::byte* source, std::uint64_t bytes, int repeats) {
  const Body body = body_of(destination, bytes);
  auto* const to = reinterpret_cast<uint4*>(destination + body.begin);
  const auto* const from = reinterpret_cast<const uint4*>(source + body.begin);
  const std::uint64_t vectors = body.bytes / sizeof(uint4), tile = std::uint64_t{blockDim.x} * unroll;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const std::uint64_t block = (blockIdx.x + static_cast<unsigned>(repeat)) % gridDim.x;
    for (std::uint64_t start = block * tile; start < vectors; start += gridDim.x * tile) {
      const std::uint64_t first = start + threadIdx.x;
      uint4 values[unroll];
      if (start + tile <= vectors) {
#pragma unroll
        for (int k = 0; k < unroll; ++k) values[k] = Access::load(from + first + std::uint64_t{blockDim.x} * k);
#pragma unroll
        for (int k = 0; k < unroll; ++k) Access::store(to + first + std::uint64_t{blockDim.x} * k, values[k]);
      } else {
        for (std::uint64_t at = first; at < vectors; at += blockDim.x) Access::store(to + at, Access::load(from + at));
      }
    }
    asm volatile("" ::: "memory");  // prevents the compiler from removing repeated copies
  }
  copy_edges(destination, source, bytes, body);
}

/// One thread per block copies chunks from global to shared to global memory by bulk asynchronous copies
/// (cp.async.bulk).
__global__ void bulk_copy_kernel(std::byte* destination, const std::byte* source, std::uint64_t bytes, int repeats,
                                 BulkPath path) {
#if __CUDA_ARCH__ >= 900
  constexpr int bulk_ahead = 4;  // loads issued ahead of the stores
  extern __shared__ __align__(128) std::byte stages[];
  const auto shared_address = [](const void* p) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(p)); };
  auto* const arrived = reinterpret_cast<std::uint64_t*>(stages + bulk_stages * path.chunk);
  const Body body = body_of(destination, bytes);
  const std::uint64_t chunks = (body.bytes + path.chunk - 1) / path.chunk, each = (chunks + gridDim.x - 1) / gridDim.x;
  const std::uint64_t first = path.contiguous ? min(blockIdx.x * each, chunks) : min(std::uint64_t{blockIdx.x}, chunks);
  const std::uint64_t step = path.contiguous ? 1 : gridDim.x;
  const std::uint64_t mine = path.contiguous ? min(each, chunks - first) : (chunks - first + step - 1) / step;
  const std::uint64_t total = mine * static_cast<std::uint64_t>(repeats);
  const auto offset = [&](std::uint64_t i) { return body.begin + (first + i % mine * step) * path.chunk; };
  const auto size = [&](std::uint64_t i) {
    return static_cast<std::uint32_t>(min(std::uint64_t{path.chunk}, body.begin + body.bytes - offset(i)));
  };
  const auto load = [&](std::uint64_t i) {
    const std::uint32_t barrier = shared_address(arrived + i % bulk_stages);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(size(i)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(stages + i % bulk_stages * path.chunk)),
                 "l"(__cvta_generic_to_global(source + offset(i))), "r"(size(i)), "r"(barrier)
                 : "memory");
  };
  const auto wait = [&](std::uint64_t i) {
    const std::uint32_t barrier = shared_address(arrived + i % bulk_stages);
    const auto parity = static_cast<std::uint32_t>(i / bulk_stages % 2);
    std::uint32_t done = 0;
    while (!done)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(done)
                   : "r"(barrier), "r"(parity)
                   : "memory");
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < bulk_stages; ++s)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived + s)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    for (std::uint64_t i = 0; i < min(total, static_cast<std::uint64_t>(bulk_ahead)); ++i) load(i);
    for (std::uint64_t i = 0; i < total; ++i) {
      wait(i);
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                       __cvta_generic_to_global(destination + offset(i))),
                   "r"(shared_address(stages + i % bulk_stages * path.chunk)), "r"(size(i))
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (i + bulk_ahead < total) {
        // The stage of chunk i + ahead contained chunk i + ahead − stages, whose store must have read it.
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(bulk_stages - bulk_ahead) : "memory");
        load(i + bulk_ahead);
      }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  copy_edges(destination, source, bytes, body);
#endif
}

/// Returns the number of whole pattern words; 0 if the memory is not aligned to a word of the pattern.
__device__ std::uint64_t whole_words(const std::byte* memory, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(memory) % sizeof(std::uint64_t) == 0 ? bytes / sizeof(std::uint64_t) : 0;
}

__global__ void fill_kernel(std::byte* memory, std::uint64_t bytes, std::uint64_t seed) {
  auto* const words = reinterpret_cast<std::uint64_t*>(memory);
  const std::uint64_t count = whole_words(memory, bytes), step = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t i = me; i < count; i += step) words[i] = pattern_word(seed, i);
  for (std::uint64_t i = count * sizeof(std::uint64_t) + me; i < bytes; i += step) memory[i] = pattern_byte(seed, i);
}

constexpr unsigned check_threads = 256;

/// Compares blocks of Portion::block_bytes, each by all threads of a block. The first block also compares the bytes
/// before and after the whole words. Unaligned memory is compared byte by byte.
__global__ void check_kernel(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t ahead,
                             Portion portion, CheckCounters* counters) {
  constexpr std::uint64_t word = sizeof(std::uint64_t), block_words = Portion::block_bytes / word;
  const std::uint64_t before = min(bytes, (word - ahead % word) % word);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(memory + before);
  const std::uint64_t count = whole_words(memory + before, bytes - before), first_word = (ahead + before) / word;
  unsigned long long wrong = 0, first_wrong = ~0ULL;
  const auto compare_bytes = [&](std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    for (std::uint64_t i = first; i < last; i += step) {
      if (memory[i] == pattern_byte(seed, ahead + i)) continue;
      ++wrong;
      first_wrong = min(first_wrong, static_cast<unsigned long long>(i));
    }
  };
  const auto compare_word = [&](std::uint64_t i) {
    if (i >= count || words[i] == pattern_word(seed, first_word + i)) return;
    compare_bytes(before + i * word, before + (i + 1) * word, 1);
  };
  const std::uint64_t blocks = (count + block_words - 1) / block_words, step = portion.every * gridDim.x;
  for (std::uint64_t block = portion.first + portion.every * blockIdx.x; block < blocks; block += step) {
#pragma unroll
    for (unsigned k = 0; k < block_words; k += check_threads) compare_word(block * block_words + k + threadIdx.x);
  }
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  compare_bytes(me, before, all);
  compare_bytes(before + count * word + me, bytes, all);
  if (wrong == 0) return;
  atomicAdd(&counters->wrong_bytes, wrong);
  atomicMin(&counters->first_wrong, first_wrong);
}

int compute_capability_major() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "copy kernel", "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "copy kernel",
        "cudaDeviceGetAttribute");
  return major;
}

}  // namespace

void check_launch(const char* kernel) { check(cudaGetLastError(), kernel, "launch"); }

void launch_gate_kernel(const volatile unsigned* released, unsigned generation, GateSlot* slot,
                        std::uint64_t timeout_ns, cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(released, generation, slot, timeout_ns);
  check_launch("gate kernel");
}

void launch_copy(const KernelCopy& copy, cudaStream_t stream) {
  Kernel kernel = copy.kernel;
  if (kernel == Kernel::bulk && compute_capability_major() < 9) kernel = Kernel::noncached;
  const auto [blocks, threads] = shape_for(copy, kernel);
  if (kernel == Kernel::bulk) {
    const BulkPath path = bulk_path(copy.direction, blocks);
    bulk_copy_kernel<<<blocks, threads, path.shared(), stream>>>(copy.destination, copy.source, copy.bytes,
                                                                 copy.repeats, path);
  } else if (kernel == Kernel::cached) {
    copy_kernel<Cached><<<blocks, threads, 0, stream>>>(copy.destination, copy.source, copy.bytes, copy.repeats);
  } else {
    copy_kernel<NonCached><<<blocks, threads, 0, stream>>>(copy.destination, copy.source, copy.bytes, copy.repeats);
  }
  check_launch("copy kernel");
}

void launch_fill(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, cudaStream_t stream) {
  fill_kernel<<<1024, 256, 0, stream>>>(memory, bytes, seed);
  check_launch("fill kernel");
}

void touch_on_device(std::byte* memory, std::uint64_t bytes, const std::string& where) {
  launch_fill(memory, bytes, first_seed, nullptr);
  check(cudaStreamSynchronize(nullptr), where, "touching new memory");
}

void launch_check(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, CheckCounters* counters,
                  cudaStream_t stream, std::uint64_t ahead, Portion portion) {
  check_kernel<<<1024, check_threads, 0, stream>>>(memory, bytes, seed, ahead, portion, counters);
  check_launch("check kernel");
}

void load_kernels() {
  cudaFuncAttributes attributes;
  const std::array kernels{reinterpret_cast<const void*>(gate_kernel),
                           reinterpret_cast<const void*>(copy_kernel<Cached>),
                           reinterpret_cast<const void*>(copy_kernel<NonCached>),
                           reinterpret_cast<const void*>(bulk_copy_kernel),
                           reinterpret_cast<const void*>(fill_kernel),
                           reinterpret_cast<const void*>(check_kernel)};
  for (const void* kernel : kernels)
    check(cudaFuncGetAttributes(&attributes, kernel), "kernels", "cudaFuncGetAttributes");
  if (compute_capability_major() >= 9)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(bulk_copy_kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(turns.shared())),
          "bulk copy kernel", "cudaFuncSetAttribute");
}

}  // namespace linkmatrix::cuda
