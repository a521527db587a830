#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace linkmatrix::ranks {

/// Whether T is Type or const Type.
template <class T, class Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

/// Whether a function fields(archive, value) exists for T. It calls the archive with the members of the value.
template <class Archive, class T>
concept HasFields = requires(Archive& archive, T& value) {
  fields(archive, value);
};

/// Serializes values for a program of the same build: trivially copyable types, texts, lists, maps, pairs, optional
/// values, and types with fields().
class Packer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (HasFields<Packer, const T>) {
      fields(*this, value);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      const auto* const begin = reinterpret_cast<const std::byte*>(&value);
      bytes_.insert(bytes_.end(), begin, begin + sizeof(T));
    }
  }
  void put(const std::string& text) { put_all(text); }
  template <class T>
  void put(const std::vector<T>& list) {
    put_all(list);
  }
  template <class Key, class T>
  void put(const std::map<Key, T>& map) {
    put_all(map);
  }
  template <class First, class Second>
  void put(const std::pair<First, Second>& pair) {
    put(pair.first), put(pair.second);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Items>
  void put_all(const Items& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) put(item);
  }

  std::vector<std::byte> bytes_;
};

/// Deserializes values of a Packer. Throws DeviceError if bytes are missing.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : rest_{bytes} {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (HasFields<Unpacker, T>) {
      fields(*this, value);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      if (rest_.size() < sizeof(T)) throw DeviceError("a message between ranks arrived incomplete");
      std::memcpy(&value, rest_.data(), sizeof(T));
      rest_ = rest_.subspan(sizeof(T));
    }
  }
  void get(std::string& text) {
    for (auto left = count(); left > 0; --left) {
      char letter = 0;
      get(letter);
      text += letter;
    }
  }
  template <class T>
  void get(std::vector<T>& list) {
    for (auto left = count(); left > 0; --left) get(list.emplace_back());
  }
  template <class Key, class T>
  void get(std::map<Key, T>& map) {
    for (auto left = count(); left > 0; --left) {
      Key key{};
      get(key);
      get(map[key]);
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    if (has_value) get(value.emplace());
  }
  std::uint32_t count() {
    std::uint32_t items = 0;
    get(items);
    return items;
  }

  std::span<const std::byte> rest_;
};

template <class T>
std::vector<std::byte> pack(const T& value) {
  Packer packer;
  packer(value);
  return packer.take();
}

/// Deserializes exactly one value. Throws DeviceError if bytes are missing or left over.
template <class T>
T unpack(std::span<const std::byte> bytes) {
  T value{};
  Unpacker unpacker(bytes);
  unpacker(value);
  if (!unpacker.at_end()) throw DeviceError("a message between ranks is longer than its content");
  return value;
}

}  // namespace linkmatrix::ranks
