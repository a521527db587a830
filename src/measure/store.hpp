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

/// A cell as the engine knows it.
struct CellValue {
  CellStatus status = CellStatus::not_run;
  double value = 0, low = 0, high = 0;
  int samples = 0;
  bool converged = false;
  bool verified = false;
  std::vector<double> sampled;   ///< all values
  std::array<double, 2> ways{};  ///< GB/s, of a bidirectional cell: from row to column, and back
  std::optional<double> enqueue_us, slowest_copy;
  std::size_t round = 0;        ///< counted from 0
  double began = 0, ended = 0;  ///< seconds after the matrix began
};

/// Where the engine puts each cell as soon as it is known, in memory or in a file. The supervisor reads it at any time.
class Store {
 public:
  virtual ~Store() = default;
  /// A bidirectional cell stands at both its places. Status corrupt stays, whatever is put there later.
  virtual void put(const Place& place, const CellValue& cell) = 0;
  /// Of a cell that has no value; corrupt also of one that has.
  virtual void mark(const Place& place, CellStatus status) = 0;
  /// Takes a cell's value back: it could be measured once, and not again.
  virtual void fail(const Place& place, CellStatus status) = 0;
  /// Nothing where there is none.
  virtual std::optional<double> value(const Place& place) const = 0;
  virtual CellStatus status(const Place& place) const = 0;
  /// Low and high of the cell's interval.
  virtual std::optional<Interval> interval(const Place& place) const = 0;
  /// Whether cells can be looked at again: those in a file cannot.
  virtual bool can_remeasure() const { return true; }
  /// An endpoint that is not there any more goes into the record.
  virtual void lose(const Lost& endpoint) = 0;
  /// What cells in a file amount to goes into the result; called at the end, whatever it was.
  virtual void finish() {}
  /// Changes what a result says besides its cells: schedule, notes, parts.
  virtual void change(const std::function<void(MatrixResult&)>& change) = 0;
};

/// Where a cell's value is in the result: a bidirectional pair at both its places, unless it has one of them alone.
std::vector<Place> places_of(const MatrixResult& result, const Place& place);

/// Into the last result of a record.
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
  Matrix<bool> verified_;  ///< cells whose data was compared and right, each time
};

}  // namespace linkmatrix
