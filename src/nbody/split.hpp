#pragma once

#include <algorithm>
#include <cstdint>

namespace linkmatrix {

/// Bodies per tile; a device has at least one tile.
constexpr std::uint64_t bodies_of_tile = 256;

/// Layout of bodies in the memory of every device: equal parts of whole tiles, one per device. Unused places contain
/// bodies without mass, which attract nothing.
class Split {
 public:
  Split() = default;
  Split(std::uint64_t bodies, int parts) : bodies_{bodies}, parts_{static_cast<std::uint64_t>(parts)} {
    const std::uint64_t most = (bodies_ + parts_ - 1) / parts_;
    stride_ = (most + bodies_of_tile - 1) / bodies_of_tile * bodies_of_tile;
  }

  std::uint64_t bodies() const { return bodies_; }
  int parts() const { return static_cast<int>(parts_); }
  /// Returns the places of a part, and of all parts.
  std::uint64_t stride() const { return stride_; }
  std::uint64_t places() const { return stride_ * parts_; }
  /// Returns the first place of a part.
  std::uint64_t place_of(int part) const { return static_cast<std::uint64_t>(part) * stride_; }
  /// Returns the number of bodies of a part, and the number of its first body. Parts differ by at most one body.
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
