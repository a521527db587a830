#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

namespace linkmatrix {

/// A value that several threads share: seen and changed only under its lock, which is held for no longer than that.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_{std::move(value)} {}

  /// Calls `change(value)`; its answer is the result.
  template <class Change>
  decltype(auto) change(Change&& change) {
    const std::lock_guard lock(mutex_);
    ++version_;
    return std::forward<Change>(change)(value_);
  }
  /// Calls `look(value)`, which changes nothing.
  template <class Look>
  decltype(auto) look(Look&& look) const {
    const std::lock_guard lock(mutex_);
    return std::forward<Look>(look)(std::as_const(value_));
  }
  /// How often it was changed: whoever keeps copies knows whether theirs is old.
  std::uint64_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }

 private:
  mutable std::mutex mutex_;
  T value_{};
  std::uint64_t version_ = 0;
};

}  // namespace linkmatrix
