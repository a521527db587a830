#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Endpoints that the copies of a matrix cannot have: what the back end lost for all, and what was lost for these
/// copies alone (memory that one could not get).
class LostEndpoints {
 public:
  explicit LostEndpoints(const Backend& backend) : backend_{backend} {}

  /// For these copies alone. Whether that is news.
  bool add(int endpoint, CellStatus status, const std::string& why, LossKind kind);

  bool has(int endpoint) const;
  bool has(const Copy& copy) const { return has(copy.source) || has(copy.destination); }
  /// How many were added.
  std::size_t size() const { return lost_.size(); }
  /// A lost endpoint of a cell, where none of its measured copies is left: of a fan, some may be.
  std::optional<int> of(std::span<const Copy> cell) const;
  /// Who takes part in a cell and who does not, in a sentence; nothing where all of its measured copies are made.
  std::string what_is_left_of(std::span<const Copy> cell) const;
  /// How the endpoint's cells end.
  CellStatus status(int endpoint) const;
  /// `endpoint`: one that is lost.
  std::string why(int endpoint) const;
  /// Those that were not taken yet.
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
