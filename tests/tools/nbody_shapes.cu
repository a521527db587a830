// Times every kernel of forces that is compiled, by bodies and by how many shares what acts is cut into: on which
// shape_for() and splits_for() of src/nbody/cuda/forces.cu rest. Build and run, from the repository's root:
//   nvcc -O3 -std=c++17 -arch=native -Isrc tests/tools/nbody_shapes.cu src/nbody/cuda/forces.cu \
//     src/device/cuda/kernels.cu -o nbody_shapes && ./nbody_shapes
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "nbody/cuda/forces.hpp"
#include "nbody/split.hpp"

using namespace linkmatrix;

namespace {

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "nbody_shapes: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(3);
}

template <class T>
Vector4<T>* room(std::uint64_t count) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, count * sizeof(Vector4<T>)), "cudaMalloc");
  return static_cast<Vector4<T>*>(memory);
}

/// The sums of one body over all shares: what every shape must agree on.
template <class T>
double first_sum(const Vector4<T>* partial, int splits, std::uint64_t stride) {
  double sum = 0;
  for (int s = 0; s < splits; ++s) {
    Vector4<T> one;
    must(cudaMemcpy(&one, partial + s * stride + stride / 2, sizeof(one), cudaMemcpyDeviceToHost), "cudaMemcpy");
    sum += one.x;
  }
  return sum;
}

/// count: bodies that act; stride: bodies that are acted on.
template <class T>
void time_all(const char* precision, double flop, std::uint64_t stride, std::uint64_t count, int multiprocessors) {
  std::vector<Vector4<T>> bodies(count);
  for (std::uint64_t i = 0; i < count; ++i) bodies[i] = first_position<T>(i, count);
  Vector4<T>* const positions = room<T>(count);
  must(cudaMemcpy(positions, bodies.data(), count * sizeof(Vector4<T>), cudaMemcpyHostToDevice), "cudaMemcpy");
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "cudaEventCreate"), must(cudaEventCreate(&end), "cudaEventCreate");
  const cuda::NbodyShape chosen = cuda::shape_for<T>(stride);
  for (const cuda::NbodyShape& shape : cuda::nbody_shapes) {
    const int usual = cuda::splits_for(shape, stride, count, multiprocessors);
    for (const int splits : {std::max(usual / 4, 1), std::max(usual / 2, 1), usual, usual * 2}) {
      if (static_cast<std::uint64_t>(splits) > count / static_cast<std::uint64_t>(shape.threads)) continue;
      Vector4<T>* const partial = room<T>(stride * static_cast<std::uint64_t>(splits));
      const cuda::ForceWork<T> work{positions, count, 0, stride, 0, count, partial, splits};
      cuda::launch_forces(work, shape, nullptr);
      must(cudaDeviceSynchronize(), "forces");
      std::vector<double> rates;
      for (int sample = 0; sample < 5; ++sample) {
        const int repeats =
            std::clamp(static_cast<int>(2e11 / (static_cast<double>(stride) * static_cast<double>(count))), 1, 200);
        must(cudaEventRecord(begin), "cudaEventRecord");
        for (int r = 0; r < repeats; ++r) cuda::launch_forces(work, shape, nullptr);
        must(cudaEventRecord(end), "cudaEventRecord");
        must(cudaEventSynchronize(end), "cudaEventSynchronize");
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
        rates.push_back(repeats * flop * static_cast<double>(stride) * static_cast<double>(count) / milliseconds *
                        1e-9);
      }
      std::sort(rates.begin(), rates.end());
      const bool is_own = shape.threads == chosen.threads && shape.bodies == chosen.bodies &&
                          shape.unroll == chosen.unroll && splits == usual;
      std::printf("%-6s %8llu on %8llu  threads %3d bodies %d unroll %2d splits %4d  %6.2f TFLOP/s  sum %.7g%s\n",
                  precision, static_cast<unsigned long long>(count), static_cast<unsigned long long>(stride),
                  shape.threads, shape.bodies, shape.unroll, splits, rates[2], first_sum(partial, splits, stride),
                  is_own ? "  <- used" : "");
      must(cudaFree(partial), "cudaFree");
    }
  }
  must(cudaFree(positions), "cudaFree");
  std::fflush(stdout);
}

}  // namespace

int main() {
  int multiprocessors = 0;
  must(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "no device");
  for (const std::uint64_t bodies : {16384, 65536, 131072, 1048576}) {
    time_all<float>("float", 20, bodies, bodies, multiprocessors);
    if (bodies <= 131072) time_all<double>("double", 30, bodies, bodies, multiprocessors);
  }
  for (const std::uint64_t bodies : {262144}) {  // a part of four
    time_all<float>("float", 20, bodies / 4, bodies, multiprocessors);
    time_all<double>("double", 30, bodies / 4, bodies, multiprocessors);
  }
}
