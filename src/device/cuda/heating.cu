#include "core/heating.hpp"
#include "device/cuda/heating.hpp"
#include "device/cuda/kernels.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int tile = 32, threads = 256, blocks = 512;
static_assert(Heater::n % tile == 0, "the product has no ragged edge");

__global__ void fill_kernel(float* a, float* b, std::uint64_t elements) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    a[i] = heating_element(1, i);
    b[i] = heating_element(2, i);
  }
}

/// Each thread computes one element of the product, each block one tile.
__global__ void product_kernel(const float* a, const float* b, float* product, std::uint32_t n) {
  __shared__ float of_a[tile][tile], of_b[tile][tile];
  const std::uint32_t x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (std::uint32_t k = 0; k < n; k += tile) {
    of_a[y][x] = a[std::size_t{row} * n + k + x];
    of_b[y][x] = b[std::size_t{k + y} * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile; ++i) sum = fmaf(of_a[y][i], of_b[i][x], sum);
    __syncthreads();
  }
  product[std::size_t{row} * n + column] = sum;
}

__global__ void flip_kernel(float* product) { product[7] = __int_as_float(__float_as_int(product[7]) ^ 1); }

__global__ void sum_kernel(const float* product, std::uint64_t elements, unsigned long long* sum) {
  std::uint64_t mine = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    mine += checksum_term(i, __float_as_uint(product[i]));
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

}  // namespace

Heater::Heater(int ordinal, std::string where) : ordinal_{ordinal}, where_{std::move(where)} {
  use(ordinal_, where_);
  memory_ = make_device_memory(matrices + 2 * streamed + batch * sizeof(unsigned long long), where_);
  stream_ = make_stream(where_);
  end_ = make_mark(where_);
  check(cudaMemsetAsync(stream_buffer(0), 1, streamed, stream_.get()), where_, "cudaMemsetAsync");
  fill_kernel<<<blocks, threads, 0, stream_.get()>>>(matrix(0), matrix(1), std::uint64_t{n} * n);
  check_launch("heating: fill");
}

void Heater::enqueue(bool flip) {
  use(ordinal_, where_);
  const cudaStream_t stream = stream_.get();
  check(cudaMemsetAsync(sums(), 0, batch * sizeof(unsigned long long), stream), where_, "cudaMemsetAsync");
  for (std::size_t k = 0; k < batch; ++k) {
    product_kernel<<<dim3(n / tile, n / tile), dim3(tile, tile), 0, stream>>>(matrix(0), matrix(1), matrix(2), n);
    check_launch("heating: product");
    if (flip && k == 0) flip_kernel<<<1, 1, 0, stream>>>(matrix(2));
    sum_kernel<<<blocks, threads, 0, stream>>>(matrix(2), std::uint64_t{n} * n, sums() + k);
    check_launch("heating: sum");
    check(cudaMemcpyAsync(stream_buffer(1), stream_buffer(0), streamed, cudaMemcpyDeviceToDevice, stream), where_,
          "cudaMemcpyAsync");
  }
  check(cudaEventRecord(end_.get(), stream), where_, "cudaEventRecord");
}

bool Heater::is_done() const {
  use(ordinal_, where_);
  const cudaError_t status = cudaEventQuery(end_.get());
  if (status == cudaErrorNotReady) return false;
  check(status, where_, "the heating kernel");
  return true;
}

std::uint64_t Heater::wrong(std::uint64_t expected) const {
  std::array<unsigned long long, batch> found{};
  use(ordinal_, where_);
  check(cudaMemcpy(found.data(), sums(), sizeof found, cudaMemcpyDeviceToHost), where_, "cudaMemcpy");
  std::uint64_t wrong = 0;
  for (const unsigned long long sum : found) wrong += sum == expected ? 0 : 1;
  return wrong;
}

}  // namespace linkmatrix::cuda
