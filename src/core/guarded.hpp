#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

namespace linkmatrix {

/// A value shared by several threads. `change` and `read` hold its lock while they call their argument.
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
  /// Calls `read(value)` under the lock with a constant value and returns its result.
  template <class Read>
  decltype(auto) read(Read&& read) const {
    const std::lock_guard lock(mutex_);
    return std::forward<Read>(read)(std::as_const(value_));
  }
  /// Returns the number of changes so far. An owner of a copy can detect later changes.
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
