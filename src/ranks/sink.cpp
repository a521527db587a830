#include "ranks/sink.hpp"

namespace linkmatrix::ranks {

void ResultSink::put(std::size_t row, std::size_t column, const Report& report) {
  put_one(row, column, report, report.one_direction[0]);
  if (both_ways()) put_one(column, row, report, report.one_direction[1]);
}

void ResultSink::put_one(std::size_t row, std::size_t column, const Report& report, double one_direction) {
  if (result_.verify && report.wrong_bytes == 0 && result_.status(row, column) != CellStatus::ok)
    ++result_.cells_verified;
  result_.values(row, column) = report.value;
  result_.low(row, column) = report.low;
  result_.high(row, column) = report.high;
  result_.samples(row, column) = report.samples;
  result_.converged(row, column) = report.converged;
  result_.status(row, column) = report.wrong_bytes > 0 ? CellStatus::corrupt : CellStatus::ok;
  if (both_ways()) result_.part("one_direction", "one direction", "GB/s")(row, column) = one_direction;
  if (by_node_ && result_.metric == Metric::bandwidth)
    result_.part("message_rate", "message rate", "msg/s")(row, column) = report.messages_per_second;
}

void ResultSink::mark(std::size_t row, std::size_t column, CellStatus status) {
  result_.status(row, column) = status;
  if (both_ways()) result_.status(column, row) = status;
}

}  // namespace linkmatrix::ranks
