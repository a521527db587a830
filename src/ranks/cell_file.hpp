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

/// Quantiles of numbers from 1e-6 to 1e9 in constant memory. Counts in bins of 0.1 %, so quantiles are accurate to 0.05
/// %.
class Quantiles {
 public:
  void add(double value);
  std::uint64_t count() const { return count_; }
  double least() const { return least_; }
  double most() const { return most_; }
  /// Returns the quantile `share`, from 0 to 1; 0.5 is the median. At least one value must have been added.
  double at(double share) const;

 private:
  std::vector<std::uint64_t> bins_;
  std::uint64_t count_ = 0;
  double least_ = 0, most_ = 0;
};

/// Stores the cells of a matrix that is too large for a record. The cells are in a NumPy file next to the record: n × n
/// structures of 16 bytes, row-major, see Cell. The file is updated at least every 10 s. Memory use is up to 256 cells
/// per row.
class CellFile final : public Store {
 public:
  using LinkClass = std::function<std::string(std::size_t row, std::size_t column)>;

  /// Stores the cells of the record's last result. n: number of rows. blank: status of cells that are never stored,
  /// except the diagonal. Throws BadInput if the file cannot be created, or if the disk is too full.
  CellFile(Guarded<Record>& record, std::filesystem::path file, std::size_t n, bool bidirectional, LinkClass link_class,
           CellStatus blank = CellStatus::not_run);

  void put(const CellIndex& index, const CellValue& cell) override;
  void mark(const CellIndex& index, CellStatus status) override;
  void fail(const CellIndex& index, CellStatus status) override;
  std::optional<double> value(const CellIndex& index) const override;
  CellStatus status(const CellIndex& index) const override;
  std::optional<Interval> interval(const CellIndex& index) const override;
  bool can_remeasure() const override { return false; }
  void add_lost(const Lost& endpoint) override;
  void change(const std::function<void(MatrixResult&)>& change) override;

  /// Writes all cells, and sets MatrixResult::large.
  void finish() override;

  struct Cell {
    float value = 0, low = 0, high = 0;
    std::uint16_t samples = 0;
    std::uint8_t status = 0;  ///< index into status_words(); 0: blank, as in an empty file
    std::uint8_t converged = 0;
  };
  /// Returns the names of the status numbers, the blank first.
  static std::vector<std::string> status_words(CellStatus blank = CellStatus::not_run);
  static_assert(sizeof(Cell) == 16);

 private:
  /// A cell that is not written yet.
  struct Pending {
    std::uint32_t column;
    Cell cell;
  };

  std::uint8_t code(CellStatus status) const { return codes_.at(static_cast<std::size_t>(status)); }
  void add(const CellIndex& index, const Cell& cell);
  void add_once(const CellIndex& index, const Cell& cell);
  void flush(std::size_t row);
  void flush_all();
  Cell cell_at(const CellIndex& index) const;
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
  std::array<std::uint8_t, Words<CellStatus>::table.size()> codes_{};  ///< code of each status
  std::uint64_t verified_ = 0;
  std::array<std::uint64_t, 256> counts_{};  ///< number of cells per status
  std::set<CellIndex> corrupt_;
  Clock::time_point flushed_ = Clock::now();
  Descriptor out_;
  std::vector<std::vector<Pending>> pending_;  ///< by row: cells that are not written yet
};

}  // namespace linkmatrix::ranks
