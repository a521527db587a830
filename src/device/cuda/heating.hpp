#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {

/// Heats one device in its own stream by batches of matrix products (core/heating.hpp), each followed by a copy inside
/// its memory.
class Heater {
 public:
  static constexpr std::uint32_t n = 1024;             ///< rows of a matrix; one product has 2 GFLOP
  static constexpr std::size_t batch = 32;             ///< products per batch
  static constexpr std::uint64_t streamed = 64 << 20;  ///< bytes copied after each batch

  /// Allocates about 140 MiB on the device. Throws CudaError if it has too little. where: label of the device.
  Heater(int ordinal, std::string where);

  /// Enqueues a batch. flip: whether to simulate a bit flip in its first product.
  void enqueue(bool flip);
  /// Returns whether the batch has ended.
  bool is_done() const;
  /// Returns the number of products in the ended batch with another checksum than `expected`.
  std::uint64_t wrong(std::uint64_t expected) const;

 private:
  float* matrix(int which) const { return reinterpret_cast<float*>(memory_.get()) + std::size_t{n} * n * which; }
  std::byte* stream_buffer(int which) const { return memory_.get() + matrices + streamed * which; }
  unsigned long long* sums() const {
    return reinterpret_cast<unsigned long long*>(memory_.get() + matrices + 2 * streamed);
  }

  static constexpr std::uint64_t matrices = 3ull * n * n * sizeof(float);

  int ordinal_;
  std::string where_;
  DeviceMemory memory_;
  Stream stream_;
  Event end_;
};

}  // namespace linkmatrix::cuda
