#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"

namespace linkmatrix::ranks {

constexpr std::uint64_t piece_bytes = 4 * 1024 * 1024;  // long enough that a copy's start costs little …
constexpr int pieces = 6;                               // … and enough of them that neither end waits

/// Pinned host memory in pieces, which two processes of one node can have in common.
class StagingBuffer {
 public:
  /// Makes one under a name of its own.
  static StagingBuffer make(const std::string& where);
  /// Opens another process's; the name vanishes with its maker.
  static StagingBuffer open(const std::string& name, const std::string& where);

  StagingBuffer() = default;
  StagingBuffer(StagingBuffer&& other) noexcept { *this = std::move(other); }
  StagingBuffer& operator=(StagingBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(pinned_, other.pinned_);
    std::swap(name_, other.name_);
    std::swap(own_, other.own_);
    return *this;
  }
  ~StagingBuffer();

  std::byte* piece(std::uint64_t number) const { return memory_ + number % pieces * piece_bytes; }
  const std::string& name() const { return name_; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  StagingBuffer(const std::string& name, bool make, const std::string& where);

  std::byte* memory_ = nullptr;
  cuda::Registration pinned_;
  std::string name_;
  bool own_ = false;
};

}  // namespace linkmatrix::ranks
