#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/guarded.hpp"
#include "core/result.hpp"
#include "core/statistics.hpp"
#include "measure/rounds.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Values of one cell.
struct CellValue {
  CellStatus status = CellStatus::not_run;
  double value = 0, low = 0, high = 0;  ///< median, and its interval
  int samples = 0;
  bool converged = false;              ///< whether the interval is within the target
  bool verified = false;               ///< whether the data was compared
  std::vector<double> sampled;         ///< values of all samples
  std::array<double, 2> directions{};  ///< bidirectional cell: GB/s from row to column, and the reverse
  std::optional<double> enqueue_us;    ///< latency: time to enqueue one transfer
  std::optional<double> slowest_copy;  ///< several copies: GB/s of the slowest
  std::size_t round = 0;               ///< number of the round, from 0
  double began = 0, ended = 0;         ///< seconds after the start of the matrix
};

/// Receives each cell as soon as the cell is measured. One thread calls it; the supervisor's thread may read the record
/// at any time.
class Store {
 public:
  virtual ~Store() = default;
  /// Stores a cell; a bidirectional cell also at (column, row). A corrupt cell stays corrupt.
  virtual void put(const CellIndex& index, const CellValue& cell) = 0;
  /// Sets the status of a cell that has no value. `corrupt` also applies to a cell with a value.
  virtual void mark(const CellIndex& index, CellStatus status) = 0;
  /// Removes the value of a cell, and sets its status unless the cell is corrupt.
  virtual void fail(const CellIndex& index, CellStatus status) = 0;
  /// Returns the value of a cell; nothing without a value.
  virtual std::optional<double> value(const CellIndex& index) const = 0;
  virtual CellStatus status(const CellIndex& index) const = 0;
  /// Returns the interval of the cell's median.
  virtual std::optional<Interval> interval(const CellIndex& index) const = 0;
  /// Returns whether cells can be remeasured. Cells of a matrix in a separate file cannot.
  virtual bool can_remeasure() const { return true; }
  /// Adds a lost endpoint to the record.
  virtual void add_lost(const Lost& endpoint) = 0;
  /// Adds the summary of cells in a file to the result. Called at the end, also after a failure.
  virtual void finish() {}
  /// Calls `change` with the result under a lock, to change fields such as schedule, notes and parts.
  virtual void change(const std::function<void(MatrixResult&)>& change) = 0;
};

/// Returns the positions of a cell's value in the result: (row, column), and for a bidirectional cell also (column,
/// row) unless only one triangle is measured.
std::vector<CellIndex> value_places(const MatrixResult& result, const CellIndex& index);

/// Stores cells in the last result of a record.
class ResultStore final : public Store {
 public:
  explicit ResultStore(Guarded<Record>& record) : record_{record} {}
  void put(const CellIndex& index, const CellValue& cell) override;
  void mark(const CellIndex& index, CellStatus status) override;
  void fail(const CellIndex& index, CellStatus status) override;
  std::optional<double> value(const CellIndex& index) const override;
  CellStatus status(const CellIndex& index) const override;
  std::optional<Interval> interval(const CellIndex& index) const override;
  void add_lost(const Lost& endpoint) override;
  void change(const std::function<void(MatrixResult&)>& change) override;

 private:
  Guarded<Record>& record_;
  Matrix<bool> verified_;  ///< cells whose data was correct in every comparison
};

}  // namespace linkmatrix
