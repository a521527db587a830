#pragma once

#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace linkmatrix {

/// A cell of a matrix. The row is the source, the column is the destination.
struct Place {
  std::size_t row = 0, column = 0;
  auto operator<=>(const Place&) const = default;
};

/// Cells that are measured concurrently.
using Round = std::vector<Place>;

/// The rounds of a matrix, generated on request, because those of 16,384 endpoints do not fit into memory. Every cell
/// is in one round.
class Rounds {
 public:
  virtual ~Rounds() = default;
  virtual std::size_t count() const = 0;
  /// Returns the cells of a round; may be empty.
  virtual Round at(std::size_t round) const = 0;
};

/// Rounds stored in a list.
class ListedRounds final : public Rounds {
 public:
  explicit ListedRounds(std::vector<Round> rounds) : rounds_{std::move(rounds)} {}
  std::size_t count() const override { return rounds_.size(); }
  Round at(std::size_t round) const override { return rounds_.at(round); }

 private:
  std::vector<Round> rounds_;
};

}  // namespace linkmatrix
