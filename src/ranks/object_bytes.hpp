#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/error.hpp"

namespace linkmatrix::ranks {

/// Plain data as the bytes of a message between ranks of one build.
template <class T>
std::vector<std::byte> bytes_of_object(const T& object) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* const first = reinterpret_cast<const std::byte*>(&object);
  return {first, first + sizeof(T)};
}

/// The same back. Throws DeviceError where the length is another one's.
template <class T>
T object_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T object{};
  if (bytes.size() != sizeof(T)) throw DeviceError("a message of another build arrived");
  std::memcpy(&object, bytes.data(), sizeof(T));
  return object;
}

}  // namespace linkmatrix::ranks
