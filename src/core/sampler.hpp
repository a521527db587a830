#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/statistics.hpp"
#include "device/backend.hpp"

namespace linkmatrix {

/// One cell of a matrix and the copies that measure it: one; for a bidirectional cell the two directions, the first
/// from row to column; or all that together make the cell's value. Background copies run with them and count for
/// nothing.
struct Cell {
  std::size_t row = 0, column = 0;
  std::vector<Copy> copies;
};

/// Cells that are measured at once, as indices.
using Round = std::vector<std::size_t>;

/// Samples of one cell.
struct Samples {
  std::vector<double> values;                ///< GB/s, or µs for a latency
  std::vector<std::vector<double>> seconds;  ///< of one transfer, for each copy of the cell
  std::vector<double> enqueue_seconds;       ///< of one transfer of the first copy
};

/// Takes samples of cells that run at once.
class Sampler {
 public:
  /// After `soft`, every cell gets one more sample and no second; at `deadline` the back end throws.
  Sampler(Backend& backend, const std::vector<Cell>& cells, Metric metric, int warmup, Deadline deadline, Deadline soft)
      : backend_{backend}, cells_{cells}, metric_{metric}, warmup_{warmup}, deadline_{deadline}, soft_{soft} {}

  /// Warm-up, then samples of all cells of the round together until every one may stop. `divide_bytes_by` makes the
  /// transfers smaller.
  std::vector<Samples> sample(const Round& round, const StopRule& stop, std::uint64_t divide_bytes_by = 1);

  /// The copies of a round's cells, in order.
  std::vector<Copy> copies_of(const Round& round, std::uint64_t divide_bytes_by = 1) const;

  /// Whether all processes are past the soft deadline.
  bool out_of_time() { return backend_.any(soft_.passed()); }

  /// The cells whose copies ran last, or run now.
  const Round& in_flight() const { return in_flight_; }
  void set_in_flight(Round round) { in_flight_ = std::move(round); }

 private:
  void append(Samples& samples, std::span<const Copy> copies, std::span<const CopyTime> times) const;

  Backend& backend_;
  const std::vector<Cell>& cells_;
  Metric metric_;
  int warmup_;
  Deadline deadline_, soft_;
  Round in_flight_;
};

}  // namespace linkmatrix
