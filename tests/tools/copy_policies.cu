// copy_policies: GB/s of a copy kernel with each of PTX's cache policies of loads, by row, and of stores, by column.
//
// nvcc -arch=native -std=c++20 -O3 -o copy_policies tests/tools/copy_policies.cu && ./copy_policies
//
// 512 MiB, medians of several launches in the shapes that src/device/cuda/kernels.cu takes: inside a device, to and
// from page-locked host memory, and where there are two devices, from one's memory to the other's by loads and by
// stores. src/p2p/README.md has what it printed. It compares no data: it only says which policies are worth a try.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t bytes = std::size_t{512} << 20, count = bytes / sizeof(uint4);
constexpr int unroll = 8;
constexpr const char* loads[] = {"ld", "ca", "cg", "cs", "lu", "cv", "nc"};
constexpr const char* stores[] = {"st", "wb", "cg", "cs", "wt"};
constexpr int load_count = std::size(loads), store_count = std::size(stores);

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(3);
}

template <int which>
__device__ uint4 load(const uint4* from) {
  uint4 v;
#define LOAD(policy)                                             \
  asm volatile("ld.global" policy ".v4.u32 {%0,%1,%2,%3}, [%4];" \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)      \
               : "l"(from))
  if constexpr (which == 0) LOAD("");
  if constexpr (which == 1) LOAD(".ca");
  if constexpr (which == 2) LOAD(".cg");
  if constexpr (which == 3) LOAD(".cs");
  if constexpr (which == 4) LOAD(".lu");
  if constexpr (which == 5) LOAD(".cv");
  if constexpr (which == 6) LOAD(".nc");
#undef LOAD
  return v;
}

template <int which>
__device__ void store(uint4* to, uint4 v) {
#define STORE(policy) \
  asm volatile("st.global" policy ".v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w))
  if constexpr (which == 0) STORE("");
  if constexpr (which == 1) STORE(".wb");
  if constexpr (which == 2) STORE(".cg");
  if constexpr (which == 3) STORE(".cs");
  if constexpr (which == 4) STORE(".wt");
#undef STORE
}

template <int by_load, int by_store>
__global__ void __launch_bounds__(1024) copy(uint4* to, const uint4* from) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * unroll;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x * unroll + threadIdx.x; at < count; at += step) {
    uint4 v[unroll];
#pragma unroll
    for (int i = 0; i < unroll; ++i)
      if (at + i * blockDim.x < count) v[i] = load<by_load>(from + at + i * blockDim.x);
#pragma unroll
    for (int i = 0; i < unroll; ++i)
      if (at + i * blockDim.x < count) store<by_store>(to + at + i * blockDim.x, v[i]);
  }
}

using Kernel = void (*)(uint4*, const uint4*);

template <int... which>
std::vector<Kernel> all_kernels(std::integer_sequence<int, which...>) {
  return {copy<which / store_count, which % store_count>...};
}

struct Way {
  const char* name;
  void *to, *from;
  int blocks, threads, launches;
};

double median_rate(const Way& way, Kernel kernel, cudaEvent_t start, cudaEvent_t stop) {
  std::vector<double> rates;
  for (int launch = 0; launch < way.launches; ++launch) {
    check(cudaEventRecord(start), "cudaEventRecord");
    kernel<<<way.blocks, way.threads>>>(static_cast<uint4*>(way.to), static_cast<const uint4*>(way.from));
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(stop), "cudaEventRecord");
    check(cudaEventSynchronize(stop), way.name);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    rates.push_back(bytes / (milliseconds * 1e6));
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

void* on_device(int device) {
  void* memory = nullptr;
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemset(memory, device + 1, bytes), "cudaMemset");
  return memory;
}

}  // namespace

int main() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  void* const far = devices > 1 ? on_device(1) : nullptr;
  void *const near = on_device(0), *const other = on_device(0);
  void* host = nullptr;
  check(cudaHostAlloc(&host, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  std::vector<Way> ways{{"inside the device", other, near, 1056, 1024, 9},
                        {"host memory to the device", near, host, 128, 256, 5},
                        {"the device to host memory", host, near, 128, 256, 5}};
  if (far != nullptr) {
    check(cudaDeviceEnablePeerAccess(1, 0), "cudaDeviceEnablePeerAccess");
    ways.push_back({"from another device, by loads", near, far, 132, 1024, 9});
    ways.push_back({"to another device, by stores", far, near, 1056, 1024, 9});
  }
  const std::vector<Kernel> kernels = all_kernels(std::make_integer_sequence<int, load_count * store_count>());
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  for (const Way& way : ways) {
    std::printf("%s (GB/s)\n    ", way.name);
    for (const char* name : stores) std::printf("%10s", name);
    for (int l = 0; l < load_count; ++l) {
      std::printf("\n%-4s", loads[l]);
      for (int s = 0; s < store_count; ++s)
        std::printf("%10.1f", median_rate(way, kernels[l * store_count + s], start, stop));
    }
    std::printf("\n");
  }
}
