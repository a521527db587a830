#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "measure/store.hpp"

namespace linkmatrix::ranks {

/// Quantiles of positive numbers from 1e-6 to 1e9 in constant memory: counts in bins of 0.1 %, so that a median is
/// within 0.05 %.
class Quantiles {
 public:
  void add(double value);
  std::uint64_t count() const { return count_; }
  double least() const { return least_; }
  double most() const { return most_; }
  /// share: 0.5 is the median. There must be a value.
  double at(double share) const;

 private:
  std::vector<std::uint64_t> bins_;
  std::uint64_t count_ = 0;
  double least_ = 0, most_ = 0;
};

/// The cells of a matrix that is too large for a record: a file of NumPy's format beside it, n × n structures of 16
/// bytes ('value', 'low', 'high' as 4-byte floats, 'samples' as 2 bytes, 'status' and 'converged' as 1), rows sources.
/// It fills while the matrix is measured, what is new at least every 10 s; this process holds a few cells of each row.
class CellFile final : public Store {
 public:
  using LinkClass = std::function<std::string(std::size_t row, std::size_t column)>;

  /// Of the last result of the record; blank: the status of a cell that nobody touches, the diagonal aside. Throws
  /// BadInput where the file cannot be made, or the disk has no room for it.
  CellFile(Guarded<Record>& record, std::filesystem::path file, std::size_t n, bool bidirectional, LinkClass link_class,
           CellStatus blank = CellStatus::not_run);

  void put(const Place& place, const CellValue& cell) override;
  void mark(const Place& place, CellStatus status) override;
  void fail(const Place& place, CellStatus status) override;
  std::optional<double> value(const Place& place) const override;
  CellStatus status(const Place& place) const override;
  std::optional<Interval> interval(const Place& place) const override;
  bool can_remeasure() const override { return false; }
  void lose(const Lost& endpoint) override;
  void change(const std::function<void(MatrixResult&)>& change) override;

  /// Writes all, and puts what a reader wants to know without the file into the result: counts, medians of rows and
  /// columns, each link class.
  void finish() override;

  struct Cell {
    float value = 0, low = 0, high = 0;
    std::uint16_t samples = 0;
    std::uint8_t status = 0;  ///< as in `status_words`; 0 is the blank, which is what an empty file says
    std::uint8_t converged = 0;
  };
  static std::vector<std::string> status_words(CellStatus blank = CellStatus::not_run);
  static_assert(sizeof(Cell) == 16);

 private:
  /// A cell on its way to the file.
  struct Pending {
    std::uint32_t column;
    Cell cell;
  };

  std::uint8_t code(CellStatus status) const { return codes_.at(static_cast<std::size_t>(status)); }
  void add(const Place& place, const Cell& cell);
  void add_once(const Place& place, const Cell& cell);
  void flush(std::size_t row);
  void flush_all();
  Cell cell_at(const Place& place) const;
  void read(std::size_t row, std::size_t column, std::span<Cell> cells) const;
  void write(std::size_t row, std::size_t column, std::span<const Cell> cells);
  std::vector<double> column_medians() const;
  CellSummary counted() const;

  Guarded<Record>& record_;
  std::filesystem::path file_;
  std::size_t n_;
  bool bidirectional_;
  LinkClass link_class_;
  CellStatus blank_;
  std::array<std::uint8_t, Words<CellStatus>::table.size()> codes_{};  ///< of each status
  std::uint64_t verified_ = 0;
  std::array<std::uint64_t, 256> counts_{};  ///< of each status, as long as no cell comes twice
  std::set<Place> corrupt_;
  Clock::time_point flushed_ = Clock::now();
  Descriptor out_;
  std::vector<std::vector<Pending>> pending_;  ///< by row: cells that follow each other are neighbours
};

}  // namespace linkmatrix::ranks
