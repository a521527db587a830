#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "collective/nccl/elements.hpp"
#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int threads = 512;
constexpr std::uint64_t most_blocks = 2048;  // enough thread blocks to fill any device

int blocks_for(std::uint64_t count) {
  const std::uint64_t blocks = (count + ElementBlocks::elements - 1) / ElementBlocks::elements;
  return static_cast<int>(std::clamp<std::uint64_t>(blocks, 1, most_blocks));
}

/// Calls work(i) for each element of the selected blocks, as ElementBlocks::for_each. Each thread block processes one
/// block of elements after the other.
template <class Work>
__device__ void for_each_element(const ElementBlocks& blocks, std::uint64_t count, std::uint64_t part,
                                 const Work& work) {
  const std::uint64_t each = part == 0 ? count : part, parts = count / each;
  const std::uint64_t all = (each + ElementBlocks::elements - 1) / ElementBlocks::elements;
  const std::uint64_t chosen = all > blocks.first ? (all - blocks.first + blocks.every - 1) / blocks.every : 0;
  for (std::uint64_t unit = blockIdx.x; unit < parts * chosen; unit += gridDim.x) {
    const std::uint64_t begin = (unit % chosen * blocks.every + blocks.first) * ElementBlocks::elements;
    const std::uint64_t offset = unit / chosen * each, end = min(begin + ElementBlocks::elements, each);
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) work(offset + i);
  }
}

template <class T>
__global__ void fill_kernel(T* to, std::uint64_t count, Expectation expected, int rank, ElementBlocks blocks) {
  for_each_element(blocks, count, expected.part,
                   [&](std::uint64_t i) { to[i] = T(static_cast<float>(sent_element(expected, rank, i))); });
}

template <class T>
__global__ void expected_kernel(T* to, std::uint64_t count, Expectation expected, int rank, bool whole) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    double value = expected_element(expected, rank, i);
    if (whole) value = floor(value);  // NCCL rounds integer averages down
    if constexpr (std::is_same_v<T, double>)
      to[i] = value;
    else
      to[i] = T(static_cast<float>(value));
  }
}

template <class T>
__global__ void poison_kernel(T* to, std::uint64_t count, std::uint64_t part, T poisoned, ElementBlocks blocks) {
  for_each_element(blocks, count, part, [&](std::uint64_t i) { to[i] = poisoned; });
}

template <class T>
__global__ void check_kernel(const T* from, const T* expected, std::uint64_t count, std::uint64_t part,
                             ElementBlocks blocks, double tolerance, unsigned long long* wrong) {
  unsigned long long found = 0;
  for_each_element(blocks, count, part, [&](std::uint64_t i) {
    if (is_wrong(from[i], number_of(expected[i]), tolerance)) ++found;
  });
  if (found > 0) atomicAdd(wrong, found);
}

/// Calls `work` with a null pointer to the device type of an element. A float represents every transferred number.
template <class Work>
void with_type(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::f64:
      return work(static_cast<double*>(nullptr));
    case ElementType::f16:
      return work(static_cast<__half*>(nullptr));
    case ElementType::bf16:
      return work(static_cast<__nv_bfloat16*>(nullptr));
    case ElementType::f8e4m3:
      return work(static_cast<__nv_fp8_e4m3*>(nullptr));
    case ElementType::f8e5m2:
      return work(static_cast<__nv_fp8_e5m2*>(nullptr));
    case ElementType::i8:
      return work(static_cast<std::int8_t*>(nullptr));
    case ElementType::u8:
      return work(static_cast<std::uint8_t*>(nullptr));
    case ElementType::i32:
      return work(static_cast<std::int32_t*>(nullptr));
    case ElementType::u32:
      return work(static_cast<std::uint32_t*>(nullptr));
    case ElementType::i64:
      return work(static_cast<std::int64_t*>(nullptr));
    case ElementType::u64:
      return work(static_cast<std::uint64_t*>(nullptr));
    default:
      return work(static_cast<float*>(nullptr));
  }
}

}  // namespace

void launch_fill(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected, int rank,
                 const ElementBlocks& blocks, cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    fill_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<decltype(type)>(memory), count, expected, rank,
                                                           blocks);
  });
  check(cudaGetLastError(), "rank " + std::to_string(rank), "fill");
}

void launch_expected(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                     int rank, cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    expected_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<decltype(type)>(memory), count, expected,
                                                               rank, is_whole(wanted.type));
  });
  check(cudaGetLastError(), "rank " + std::to_string(rank), "the expected data");
}

void launch_poison(void* memory, std::uint64_t count, const CollectiveCase& wanted, std::uint64_t part,
                   const ElementBlocks& blocks, cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T poisoned;
    std::memset(static_cast<void*>(&poisoned), poison_byte, sizeof poisoned);
    poison_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<T*>(memory), count, part, poisoned, blocks);
  });
  check(cudaGetLastError(), "poison kernel", "launch");
}

void launch_check(const void* memory, const void* expected, std::uint64_t count, const CollectiveCase& wanted,
                  std::uint64_t part, const ElementBlocks& blocks, double tolerance, unsigned long long* wrong,
                  cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    using Pointer = const std::remove_pointer_t<decltype(type)>*;
    check_kernel<<<blocks_for(count), threads, 0, stream>>>(
        static_cast<Pointer>(memory), static_cast<Pointer>(expected), count, part, blocks, tolerance, wrong);
  });
  check(cudaGetLastError(), "check kernel", "launch");
}

}  // namespace linkmatrix::cuda
