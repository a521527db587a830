#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Endpoints that are unavailable for the copies of a matrix: lost in the back end, or added here, such as for too
/// little memory.
class LostEndpoints {
 public:
  explicit LostEndpoints(const Backend& backend) : backend_{backend} {}

  /// Adds an endpoint. Returns whether it was not lost before.
  bool add(int endpoint, CellStatus status, const std::string& why, LossKind kind);

  bool has(int endpoint) const;
  bool has(const Copy& copy) const { return has(copy.source) || has(copy.destination); }
  /// Returns the number of added endpoints.
  std::size_t size() const { return lost_.size(); }
  /// Returns a lost endpoint of a cell if the cell has no measured copy left; otherwise nothing.
  std::optional<int> lost_endpoint(std::span<const Copy> cell) const;
  /// Returns "the total covers only gpu1, gpu2: gpu3 took no part"; "" if all measured copies remain.
  std::string partial_text(std::span<const Copy> cell) const;
  /// Returns the status of the endpoint's cells.
  CellStatus status(int endpoint) const;
  /// Returns why a lost endpoint is lost.
  std::string why(int endpoint) const;
  /// Returns the endpoints lost since the last call.
  std::vector<Lost> take();

 private:
  struct Loss {
    CellStatus status;
    std::string why;
    LossKind kind;
  };
  std::string label(int endpoint) const;
  LossKind kind(int endpoint) const;

  const Backend& backend_;
  std::map<int, Loss> lost_;
  std::vector<int> taken_;  ///< endpoints that take() has returned
};

}  // namespace linkmatrix
