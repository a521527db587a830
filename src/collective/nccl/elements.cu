#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "collective/nccl/elements.hpp"
#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int threads = 512;
constexpr std::uint64_t most_blocks = 2048;  // enough to fill any device; each thread takes several elements

int blocks_for(std::uint64_t count) {
  return static_cast<int>(std::clamp<std::uint64_t>((count + threads - 1) / threads, 1, most_blocks));
}

template <class T>
__global__ void fill_kernel(T* to, std::uint64_t count, Expectation expected, int rank) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = T(static_cast<float>(sent_element(expected, rank, i)));
}

template <class T>
__global__ void check_kernel(const T* from, std::uint64_t count, Expectation expected, int rank, bool whole,
                             double tolerance, unsigned long long* wrong) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long found = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    double value = expected_element(expected, rank, i);
    if (whole) value = floor(value);  // an average of whole numbers is one
    if (is_wrong(from[i], value, tolerance)) ++found;
  }
  if (found > 0) atomicAdd(wrong, found);
}

/// Calls `work` with a null pointer to the type that a device has of it. All numbers that are sent fit a float.
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
                 cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    fill_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<decltype(type)>(memory), count, expected, rank);
  });
  check(cudaGetLastError(), "rank " + std::to_string(rank), "fill");
}

void launch_check(const void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                  int rank, double tolerance, unsigned long long* wrong, cudaStream_t stream) {
  if (count == 0) return;
  with_type(wanted.type, [&](auto* type) {
    using Pointer = const std::remove_pointer_t<decltype(type)>*;
    check_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<Pointer>(memory), count, expected, rank,
                                                            is_whole(wanted.type), tolerance, wrong);
  });
  check(cudaGetLastError(), "rank " + std::to_string(rank), "compare");
}

}  // namespace linkmatrix::cuda
