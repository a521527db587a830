#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "nbody/bodies.hpp"

namespace linkmatrix::cuda {

/// Shape of a force kernel: threads per block, bodies per thread, and acting bodies per iteration of its loop.
struct NbodyShape {
  int threads, bodies, unroll;
};

/// The compiled shapes, for both precisions.
constexpr NbodyShape nbody_shapes[] = {{256, 1, 32}, {256, 2, 16}};

/// Forces of some bodies on the bodies of a part. Slots as in Split. After the last slot, the acting bodies continue at
/// slot 0.
template <class T>
struct ForceWork {
  const Vector4<T>* positions;
  std::uint64_t places;       ///< number of slots in `positions`
  std::uint64_t own, stride;  ///< first slot and number of slots of the part
  std::uint64_t from, count;  ///< first slot and number of acting bodies; whole tiles
  Vector4<T>* partial;        ///< result: `splits` × `stride` sums, each over 1 / `splits` of the acting bodies
  int splits;
};

template <class T>
void launch_forces(const ForceWork<T>& work, const NbodyShape& shape, cudaStream_t stream);

/// Adds a part's partial sums and moves its bodies (Step).
template <class T>
struct MoveWork {
  const Vector4<T>* before;  ///< positions of the part
  Vector4<T>* after;         ///< result: new positions of the part
  Vector4<T>* velocities;
  const Vector4<T>* partial;
  int slots;                    ///< number of partial sums per body
  std::uint64_t stride, count;  ///< slots and bodies of the part
  T kick, drift;
};

template <class T>
void launch_move(const MoveWork<T>& work, cudaStream_t stream);

/// Returns the fastest shape on H200 for a part with `stride` slots.
template <class T>
NbodyShape shape_for(std::uint64_t stride);
/// Returns ForceWork::splits with which all multiprocessors are busy until the end. count: number of acting bodies.
int splits_for(const NbodyShape& shape, std::uint64_t stride, std::uint64_t count, int multiprocessors);

}  // namespace linkmatrix::cuda
