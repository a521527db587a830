#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Endpoints that are unavailable for the copies of a matrix: lost for the whole back end, or only for these copies
/// (too little memory).
class LostEndpoints {
 public:
  explicit LostEndpoints(const Backend& backend) : backend_{backend} {}

  /// Adds an endpoint that is lost for these copies. Returns whether the loss is new.
  bool add(int endpoint, CellStatus status, const std::string& why, LossKind kind);

  bool has(int endpoint) const;
  bool has(const Copy& copy) const { return has(copy.source) || has(copy.destination); }
  /// Returns the number of added endpoints.
  std::size_t size() const { return lost_.size(); }
  /// Returns a lost endpoint of a cell if none of its measured copies remains. A fan may still have some.
  std::optional<int> of(std::span<const Copy> cell) const;
  /// Returns a sentence on the endpoints that take part in a cell and those that do not; "" if all measured copies
  /// remain.
  std::string what_is_left_of(std::span<const Copy> cell) const;
  /// Returns the status of the endpoint's cells.
  CellStatus status(int endpoint) const;
  /// Returns why a lost endpoint is lost.
  std::string why(int endpoint) const;
  /// Returns the lost endpoints since the last call.
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
  std::vector<int> taken_;
};

}  // namespace linkmatrix
