#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

namespace linkmatrix {

/// A value shared by several threads. Its lock is held only during `change` and `look`.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_{std::move(value)} {}

  /// Calls `change(value)` under the lock and returns its result.
  template <class Change>
  decltype(auto) change(Change&& change) {
    const std::lock_guard lock(mutex_);
    ++version_;
    return std::forward<Change>(change)(value_);
  }
  /// Calls `look(value)` under the lock with a constant value and returns its result.
  template <class Look>
  decltype(auto) look(Look&& look) const {
    const std::lock_guard lock(mutex_);
    return std::forward<Look>(look)(std::as_const(value_));
  }
  /// Returns the number of changes. A holder of a copy can compare this number with an earlier one.
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
