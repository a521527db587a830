#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {

/// Heats one device: batches of products of matrices (core/heating.hpp), each followed by a stream through its memory,
/// in a stream of its own. Makes its memory; throws CudaError where there is too little.
class Heater {
 public:
  static constexpr std::uint32_t n = 1024;             ///< rows of a matrix: 2 GFLOP a product
  static constexpr std::size_t batch = 32;             ///< products
  static constexpr std::uint64_t streamed = 64 << 20;  ///< bytes after each

  /// `where`: its label, for messages.
  Heater(int ordinal, std::string where);

  /// Puts a batch into the stream. `flip`: a bit of its first product is made wrong.
  void enqueue(bool flip);
  /// Whether the batch has ended.
  bool is_done() const;
  /// Of the batch, which has ended: products whose sum is not this one.
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
