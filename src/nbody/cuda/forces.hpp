#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "nbody/bodies.hpp"

namespace linkmatrix::cuda {

/// How a kernel of forces is made: threads of a block, bodies of a thread, and how many others a turn of its loop has.
struct NbodyShape {
  int threads, bodies, unroll;
};

/// Those that are compiled, of both precisions.
constexpr NbodyShape nbody_shapes[] = {{256, 1, 32}, {256, 2, 16}};

/// The forces of some bodies on those of a part. Places are those of `Split`; what acts begins at `from` and goes on at
/// the first place after the last one.
template <class T>
struct ForceWork {
  const Vector4<T>* positions;
  std::uint64_t places;
  std::uint64_t own, stride;
  std::uint64_t from, count;  ///< whole tiles
  Vector4<T>* partial;        ///< `splits` times `stride` sums, each of a share of what acts
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

/// The shape that is the fastest on H200 for a part of so many places, and into how many shares what acts is cut, so
/// that a device of so many multiprocessors is busy to the end.
template <class T>
NbodyShape shape_for(std::uint64_t stride);
int splits_for(const NbodyShape& shape, std::uint64_t stride, std::uint64_t count, int multiprocessors);

}  // namespace linkmatrix::cuda
