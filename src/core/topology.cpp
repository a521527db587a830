#include "core/topology.hpp"

#include <queue>

namespace linkmatrix {

Matrix<std::optional<int>> shortest_paths(const Matrix<bool>& direct) {
  const std::size_t n = direct.rows();
  Matrix<std::optional<int>> hops(n, n, 0);
  for (std::size_t source = 0; source < n; ++source) {
    std::queue<std::size_t> reached;
    reached.push(source);
    while (!reached.empty()) {
      const std::size_t here = reached.front();
      reached.pop();
      for (std::size_t next = 0; next < n; ++next) {
        if (next == source || !direct(here, next) || *hops(source, next) != 0) continue;
        hops(source, next) = *hops(source, here) + 1;
        reached.push(next);
      }
    }
  }
  return hops;
}

}  // namespace linkmatrix
