#pragma once

#include <optional>
#include <vector>

#include "core/result.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Where the conductor puts each cell as soon as it is known.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void put(std::size_t row, std::size_t column, const Report& report) = 0;
  virtual void mark(std::size_t row, std::size_t column, CellStatus status) = 0;
  /// Nothing where there is none.
  virtual std::optional<double> value(std::size_t row, std::size_t column) const = 0;
};

/// Into the matrices of a result, for the record as JSON and for the tables.
class ResultSink final : public Sink {
 public:
  /// by_node: a cell is a pair of nodes, of which the message rate is kept too.
  ResultSink(MatrixResult& result, bool by_node) : result_{result}, by_node_{by_node} {}

  void put(std::size_t row, std::size_t column, const Report& report) override;
  void mark(std::size_t row, std::size_t column, CellStatus status) override;
  std::optional<double> value(std::size_t row, std::size_t column) const override {
    return result_.values(row, column);
  }

 private:
  bool both_ways() const { return result_.metric == Metric::bidirectional; }
  void put_one(std::size_t row, std::size_t column, const Report& report, double one_direction);

  MatrixResult& result_;
  bool by_node_;
};

}  // namespace linkmatrix::ranks
