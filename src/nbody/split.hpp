#pragma once

#include <algorithm>
#include <cstdint>

namespace linkmatrix {

/// Bodies that are read together, and the least that a device has.
constexpr std::uint64_t bodies_of_tile = 256;

/// How bodies lie in the memory of every device: a part for each device, as large as every other and of whole tiles.
/// What is left of a part are bodies without mass, which attract nothing.
class Split {
 public:
  Split() = default;
  Split(std::uint64_t bodies, int parts) : bodies_{bodies}, parts_{static_cast<std::uint64_t>(parts)} {
    const std::uint64_t most = (bodies_ + parts_ - 1) / parts_;
    stride_ = (most + bodies_of_tile - 1) / bodies_of_tile * bodies_of_tile;
  }

  std::uint64_t bodies() const { return bodies_; }
  int parts() const { return static_cast<int>(parts_); }
  /// Places of a part, and of all.
  std::uint64_t stride() const { return stride_; }
  std::uint64_t places() const { return stride_ * parts_; }
  /// Where a part begins.
  std::uint64_t place_of(int part) const { return static_cast<std::uint64_t>(part) * stride_; }
  /// Bodies of a part, and the first one's number: parts differ by one at most.
  std::uint64_t count(int part) const {
    return bodies_ / parts_ + (static_cast<std::uint64_t>(part) < bodies_ % parts_ ? 1 : 0);
  }
  std::uint64_t first(int part) const {
    const auto p = static_cast<std::uint64_t>(part);
    return bodies_ / parts_ * p + std::min(p, bodies_ % parts_);
  }

 private:
  std::uint64_t bodies_ = 0, parts_ = 1, stride_ = 0;
};

}  // namespace linkmatrix
