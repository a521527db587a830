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
  double value = 0, low = 0, high = 0;
  int samples = 0;
  bool converged = false;
  bool verified = false;
  std::vector<double> sampled;   ///< values of all samples
  std::array<double, 2> ways{};  ///< bidirectional cell: GB/s from row to column, and in the reverse direction
  std::optional<double> enqueue_us, slowest_copy;
  std::size_t round = 0;        ///< round of the measurement, from 0
  double began = 0, ended = 0;  ///< start and end, in seconds after the start of the matrix
};

/// Receives each cell as soon as it is measured, in memory or in a file. The supervisor may read the record at any
/// time.
class Store {
 public:
  virtual ~Store() = default;
  /// Stores a cell; a bidirectional cell at both its places. The status corrupt is permanent.
  virtual void put(const Place& place, const CellValue& cell) = 0;
  /// Sets the status of a cell without a value; corrupt also of a cell with a value.
  virtual void mark(const Place& place, CellStatus status) = 0;
  /// Removes the value of a cell that failed in a later measurement.
  virtual void fail(const Place& place, CellStatus status) = 0;
  /// Returns the value of a cell; nothing without a value.
  virtual std::optional<double> value(const Place& place) const = 0;
  virtual CellStatus status(const Place& place) const = 0;
  /// Returns the interval of the cell's median.
  virtual std::optional<Interval> interval(const Place& place) const = 0;
  /// Returns whether cells can be remeasured. Cells in a file cannot.
  virtual bool can_remeasure() const { return true; }
  /// Adds a lost endpoint to the record.
  virtual void lose(const Lost& endpoint) = 0;
  /// Adds the summary of cells in a file to the result. Called at the end, also after a failure.
  virtual void finish() {}
  /// Changes other fields of the result: schedule, notes, parts.
  virtual void change(const std::function<void(MatrixResult&)>& change) = 0;
};

/// Returns the places of a cell's value in the result: both places for a bidirectional pair, unless only one is
/// measured.
std::vector<Place> places_of(const MatrixResult& result, const Place& place);

/// Stores cells in the last result of a record.
class ResultStore final : public Store {
 public:
  explicit ResultStore(Guarded<Record>& record) : record_{record} {}
  void put(const Place& place, const CellValue& cell) override;
  void mark(const Place& place, CellStatus status) override;
  void fail(const Place& place, CellStatus status) override;
  std::optional<double> value(const Place& place) const override;
  CellStatus status(const Place& place) const override;
  std::optional<Interval> interval(const Place& place) const override;
  void lose(const Lost& endpoint) override;
  void change(const std::function<void(MatrixResult&)>& change) override;

 private:
  Guarded<Record>& record_;
  Matrix<bool> verified_;  ///< cells whose data was correct in every comparison
};

}  // namespace linkmatrix
