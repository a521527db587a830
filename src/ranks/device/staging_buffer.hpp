#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/handles.hpp"
#include "ranks/shared_segment.hpp"

namespace linkmatrix::ranks {

constexpr std::uint64_t piece_bytes = 4 * 1024 * 1024;  // long enough that a copy's start costs little …
constexpr int pieces = 6;                               // … and enough of them that neither end waits

/// Pinned host memory in pieces, which two processes of one node can have in common.
class StagingBuffer {
 public:
  static StagingBuffer make(const std::string& where);
  /// Another process's, by its name.
  static StagingBuffer open(const std::string& name, const std::string& where);

  StagingBuffer() = default;
  StagingBuffer(StagingBuffer&& other) noexcept { *this = std::move(other); }
  StagingBuffer& operator=(StagingBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(pinned_, other.pinned_);
    return *this;
  }

  std::byte* piece(std::uint64_t number) const { return memory_->data() + number % pieces * piece_bytes; }
  const std::string& name() const { return memory_->name(); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  StagingBuffer(std::unique_ptr<SharedSegment> memory, const std::string& where);

  std::unique_ptr<SharedSegment> memory_;
  cuda::Registration pinned_;  ///< ends before the memory
};

}  // namespace linkmatrix::ranks
