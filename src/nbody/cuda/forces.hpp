#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "nbody/bodies.hpp"

namespace linkmatrix::cuda {

/// Shape of a force kernel: threads of a block, bodies of a thread, and other bodies per turn of its loop.
struct NbodyShape {
  int threads, bodies, unroll;
};

/// The compiled shapes, for both precisions.
constexpr NbodyShape nbody_shapes[] = {{256, 1, 32}, {256, 2, 16}};

/// Forces of some bodies on the bodies of a part. Places are those of `Split`. The acting bodies begin at `from` and
/// continue at the first place after the last one.
template <class T>
struct ForceWork {
  const Vector4<T>* positions;
  std::uint64_t places;
  std::uint64_t own, stride;
  std::uint64_t from, count;  ///< whole tiles
  Vector4<T>* partial;        ///< `splits` times `stride` sums, each of a share of the acting bodies
  int splits;
};

template <class T>
void launch_forces(const ForceWork<T>& work, const NbodyShape& shape, cudaStream_t stream);

/// Adds up a part's partial sums and moves its bodies.
template <class T>
struct MoveWork {
  const Vector4<T>* before;  ///< the part's own
  Vector4<T>* after;
  Vector4<T>* velocities;
  const Vector4<T>* partial;
  int slots;
  std::uint64_t stride, count;
  T kick, drift;
};

template <class T>
void launch_move(const MoveWork<T>& work, cudaStream_t stream);

/// Returns the fastest shape on H200 for a part with so many places, and the number of shares of the acting bodies that
/// keeps all multiprocessors busy to the end.
template <class T>
NbodyShape shape_for(std::uint64_t stride);
int splits_for(const NbodyShape& shape, std::uint64_t stride, std::uint64_t count, int multiprocessors);

}  // namespace linkmatrix::cuda
