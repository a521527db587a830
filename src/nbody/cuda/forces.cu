#include <algorithm>
#include <stdexcept>

#include "device/cuda/kernels.hpp"
#include "nbody/cuda/forces.hpp"
#include "nbody/split.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int move_threads = 256;
constexpr int blocks_of_multiprocessor = 32;  // about eight times the number of resident blocks, for an even end
constexpr std::uint64_t usual_chunks = 4;     // chunks per block, if this leaves enough blocks

/// Returns 1/√x with a relative error of 1e-7, by the special function unit.
__device__ __forceinline__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Returns 1/√x in double precision: 20 bits of the special function unit, refined by one step of third order. x must
/// be positive and finite.
__device__ __forceinline__ double inverse_root(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double e = fma(-x, y * y, 1.0);
  return fma(y * e, fma(0.375, e, 0.5), y);
}

/// Sums the forces on threads × bodies bodies per block; each thread has every threads-th of them. gridDim.y blocks
/// share the acting bodies. Acting bodies are read into shared memory in chunks of one body per thread, the next chunk
/// during the computation.
template <class T, int threads, int bodies, int unroll>
__global__ __launch_bounds__(threads) void forces_kernel(ForceWork<T> work) {
  __shared__ Vector4<T> chunk[threads];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (threads * bodies) + threadIdx.x;
  T x[bodies], y[bodies], z[bodies], ax[bodies], ay[bodies], az[bodies];
#pragma unroll
  for (int b = 0; b < bodies; ++b) {
    const std::uint64_t i = first + std::uint64_t{threads} * b;
    const Vector4<T> own = work.positions[work.own + (i < work.stride ? i : 0)];
    x[b] = own.x, y[b] = own.y, z[b] = own.z;
    ax[b] = ay[b] = az[b] = 0;
  }
  const std::uint64_t chunks = work.count / threads;
  const std::uint64_t begin = chunks * blockIdx.y / gridDim.y, end = chunks * (blockIdx.y + 1) / gridDim.y;
  const auto read = [&](std::uint64_t number) {
    std::uint64_t place = work.from + number * threads;
    if (place >= work.places) place -= work.places;
    return work.positions[place + threadIdx.x];
  };
  Vector4<T> next = begin < end ? read(begin) : Vector4<T>{};
  for (std::uint64_t c = begin; c < end; ++c) {
    __syncthreads();
    chunk[threadIdx.x] = next;
    __syncthreads();
    if (c + 1 < end) next = read(c + 1);
    T sx[bodies] = {}, sy[bodies] = {},
      sz[bodies] = {};  // sums of one chunk, because sums of sums have smaller rounding errors
#pragma unroll unroll
    for (int j = 0; j < threads; ++j) {
      const Vector4<T> other = chunk[j];
#pragma unroll
      for (int b = 0; b < bodies; ++b) {
        const T dx = other.x - x[b], dy = other.y - y[b], dz = other.z - z[b];
        const T inverse = inverse_root(fma(dx, dx, fma(dy, dy, fma(dz, dz, static_cast<T>(softening_squared)))));
        const T share = (other.w * inverse) * (inverse * inverse);
        sx[b] = fma(dx, share, sx[b]), sy[b] = fma(dy, share, sy[b]), sz[b] = fma(dz, share, sz[b]);
      }
    }
#pragma unroll
    for (int b = 0; b < bodies; ++b) ax[b] += sx[b], ay[b] += sy[b], az[b] += sz[b];
  }
#pragma unroll
  for (int b = 0; b < bodies; ++b) {
    const std::uint64_t i = first + std::uint64_t{threads} * b;
    if (i < work.stride) work.partial[blockIdx.y * work.stride + i] = {ax[b], ay[b], az[b], 0};
  }
}

template <class T>
__global__ void move_kernel(MoveWork<T> work) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= work.count) return;
  T ax = 0, ay = 0, az = 0;
  for (int slot = 0; slot < work.slots; ++slot) {
    const Vector4<T> sum = work.partial[slot * work.stride + i];
    ax += sum.x, ay += sum.y, az += sum.z;
  }
  Vector4<T> v = work.velocities[i], x = work.before[i];
  v.x = fma(ax, work.kick, v.x), v.y = fma(ay, work.kick, v.y), v.z = fma(az, work.kick, v.z);
  x.x = fma(v.x, work.drift, x.x), x.y = fma(v.y, work.drift, x.y), x.z = fma(v.z, work.drift, x.z);
  work.velocities[i] = v;
  work.after[i] = x;
}

std::uint64_t divided_up(std::uint64_t what, std::uint64_t by) { return (what + by - 1) / by; }

/// Calls `launch` with the launch shape as compile-time constants.
template <int n, class Launch>
void with_shape(const NbodyShape& shape, const Launch& launch) {
  constexpr NbodyShape own = nbody_shapes[n];
  if (shape.threads == own.threads && shape.bodies == own.bodies && shape.unroll == own.unroll)
    return launch(std::integral_constant<int, own.threads>(), std::integral_constant<int, own.bodies>(),
                  std::integral_constant<int, own.unroll>());
  if constexpr (n + 1 < sizeof(nbody_shapes) / sizeof(nbody_shapes[0]))
    with_shape<n + 1>(shape, launch);
  else
    throw std::logic_error("the force kernel is not compiled for this case");
}

}  // namespace

template <class T>
void launch_forces(const ForceWork<T>& work, const NbodyShape& shape, cudaStream_t stream) {
  with_shape<0>(shape, [&](auto threads, auto bodies, auto unroll) {
    const auto blocks = static_cast<unsigned>(divided_up(work.stride, std::uint64_t{threads} * bodies));
    const dim3 grid(blocks, static_cast<unsigned>(work.splits));
    forces_kernel<T, threads, bodies, unroll><<<grid, threads(), 0, stream>>>(work);
  });
  check_launch("forces_kernel");
}

template <class T>
void launch_move(const MoveWork<T>& work, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(divided_up(work.count, move_threads));
  move_kernel<<<blocks, move_threads, 0, stream>>>(work);
  check_launch("move_kernel");
}

template <class T>
NbodyShape shape_for(std::uint64_t stride) {
  // In single precision, more bodies per thread need more registers, which leaves too few warps to hide latencies.
  constexpr NbodyShape one{256, 1, 32}, two{256, 2, 16};
  const std::uint64_t places_of_block = static_cast<std::uint64_t>(two.threads) * two.bodies;
  return sizeof(T) == sizeof(double) && stride >= places_of_block ? two : one;
}

int splits_for(const NbodyShape& shape, std::uint64_t stride, std::uint64_t count, int multiprocessors) {
  const auto wanted = static_cast<std::uint64_t>(multiprocessors) * blocks_of_multiprocessor;
  const std::uint64_t blocks = divided_up(stride, static_cast<std::uint64_t>(shape.threads) * shape.bodies);
  const std::uint64_t chunks = count / static_cast<std::uint64_t>(shape.threads);
  const std::uint64_t few = std::max<std::uint64_t>(chunks / usual_chunks, 1);
  const bool fills = blocks * few >= static_cast<std::uint64_t>(multiprocessors) * usual_chunks;
  return static_cast<int>(std::clamp<std::uint64_t>(divided_up(wanted, blocks), 1, fills ? few : chunks));
}

template void launch_forces(const ForceWork<float>&, const NbodyShape&, cudaStream_t);
template void launch_forces(const ForceWork<double>&, const NbodyShape&, cudaStream_t);
template void launch_move(const MoveWork<float>&, cudaStream_t);
template void launch_move(const MoveWork<double>&, cudaStream_t);
template NbodyShape shape_for<float>(std::uint64_t);
template NbodyShape shape_for<double>(std::uint64_t);

}  // namespace linkmatrix::cuda
