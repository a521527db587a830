#pragma once

#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace linkmatrix {

/// Position of a cell in a matrix. The row is the source, the column is the destination.
struct CellIndex {
  std::size_t row = 0, column = 0;
  auto operator<=>(const CellIndex&) const = default;
};

/// Cells that are measured concurrently.
using Round = std::vector<CellIndex>;

/// The rounds of a matrix. Every measured cell is in one round. Implementations may generate rounds on request, because
/// the rounds of 16,384 endpoints do not fit into memory.
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
  ListedRounds() = default;
  explicit ListedRounds(std::vector<Round> rounds) : rounds_{std::move(rounds)} {}
  void add(Round round) { rounds_.push_back(std::move(round)); }
  std::size_t count() const override { return rounds_.size(); }
  Round at(std::size_t round) const override { return rounds_.at(round); }

 private:
  std::vector<Round> rounds_;
};

}  // namespace linkmatrix
