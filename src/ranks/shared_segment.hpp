#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/descriptor.hpp"

namespace linkmatrix::ranks {

/// Memory that processes of one node have in common. It has no name in /dev/shm, and so ends with those that use it,
/// whatever ended them: what a killed run left there would stay, and be in the way of the next one with the same
/// number.
class SharedSegment {
 public:
  /// A new one, all zero. Both throw DeviceError.
  SharedSegment(std::uint64_t bytes, const std::string& where);
  /// Another process's, by its name, while that one has it.
  SharedSegment(const std::string& name, std::uint64_t bytes, const std::string& where);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* data() const { return data_; }
  /// What another process opens it by.
  const std::string& name() const { return name_; }

 private:
  void map(const std::string& where);

  Descriptor file_;
  std::uint64_t bytes_;
  std::string name_;
  std::byte* data_ = nullptr;
};

}  // namespace linkmatrix::ranks
