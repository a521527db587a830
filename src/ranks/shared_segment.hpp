#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/descriptor.hpp"

namespace linkmatrix::ranks {

/// Memory shared by processes of one node. It has no name in /dev/shm, so that it disappears with its processes, also
/// after a kill.
class SharedSegment {
 public:
  /// Creates a segment filled with zeros. Both constructors throw DeviceError.
  SharedSegment(std::uint64_t bytes, const std::string& where);
  /// Opens the segment of another process by its name. That process must exist.
  SharedSegment(const std::string& name, std::uint64_t bytes, const std::string& where);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* data() const { return data_; }
  /// Returns the name by which another process opens the segment.
  const std::string& name() const { return name_; }

 private:
  void map(const std::string& where);

  Descriptor file_;
  std::uint64_t bytes_;
  std::string name_;
  std::byte* data_ = nullptr;
};

}  // namespace linkmatrix::ranks
