#pragma once

#include <algorithm>
#include <cstdint>

namespace linkmatrix {

/// Number of bodies per tile.
constexpr std::uint64_t bodies_of_tile = 256;

/// Layout of bodies in the memory of every device: one part per device, of equal numbers of whole tiles. Unused slots
/// at the end of a part contain bodies without mass.
class Split {
 public:
  Split() = default;
  Split(std::uint64_t bodies, int parts) : bodies_{bodies}, parts_{static_cast<std::uint64_t>(parts)} {
    const std::uint64_t most = (bodies_ + parts_ - 1) / parts_;
    stride_ = (most + bodies_of_tile - 1) / bodies_of_tile * bodies_of_tile;
  }

  std::uint64_t bodies() const { return bodies_; }
  int parts() const { return static_cast<int>(parts_); }
  /// Returns the number of slots per part (stride), and of all parts (places).
  std::uint64_t stride() const { return stride_; }
  std::uint64_t places() const { return stride_ * parts_; }
  /// Returns the first slot of a part.
  std::uint64_t place_of(int part) const { return static_cast<std::uint64_t>(part) * stride_; }
  /// Returns the number of bodies of a part (count), and the number of its first body (first). Parts differ by at most
  /// one body.
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
