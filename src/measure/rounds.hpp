#pragma once

#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace linkmatrix {

/// A cell of a matrix: the row is the source, the column the destination.
struct Place {
  std::size_t row = 0, column = 0;
  auto operator<=>(const Place&) const = default;
};

/// Cells that are measured at once.
using Round = std::vector<Place>;

/// The rounds of a matrix, made one by one when they are asked for, so that nobody holds those of 16,384 endpoints.
/// Every cell is in one round.
class Rounds {
 public:
  virtual ~Rounds() = default;
  virtual std::size_t count() const = 0;
  /// May be empty.
  virtual Round at(std::size_t round) const = 0;
};

/// Rounds that are held.
class ListedRounds final : public Rounds {
 public:
  explicit ListedRounds(std::vector<Round> rounds) : rounds_{std::move(rounds)} {}
  std::size_t count() const override { return rounds_.size(); }
  Round at(std::size_t round) const override { return rounds_.at(round); }

 private:
  std::vector<Round> rounds_;
};

}  // namespace linkmatrix
