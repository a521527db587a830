#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/watchdog.hpp"
#include "ranks/sink.hpp"

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
/// It fills while the matrix is measured; this process holds a few cells of each row.
class CellFile final : public Sink {
 public:
  /// Throws BadInput where the file cannot be made, or the disk has no room for it.
  CellFile(std::filesystem::path file, std::size_t n, bool both_ways, bool verify);
  void put(std::size_t row, std::size_t column, const Report& report) override;
  void mark(std::size_t row, std::size_t column, CellStatus status) override;
  std::optional<double> value(std::size_t row, std::size_t column) const override;

  struct Cell {
    float value = 0, low = 0, high = 0;
    std::uint16_t samples = 0;
    std::uint8_t status = 0;  ///< as in `status_words`; 0 is "not-run", which is what an empty file says
    std::uint8_t converged = 0;
  };
  static std::vector<std::string> status_words();
  static_assert(sizeof(Cell) == 16);

  std::uint64_t verified() const { return verified_; }

  /// What a reader wants to know without the file: counts, medians of rows and columns, each link class. Writes all.
  CellSummary summary(const std::function<std::string(std::size_t row, std::size_t column)>& link_class);

 private:
  /// A cell on its way to the file.
  struct Pending {
    std::uint32_t column;
    Cell cell;
  };

  void put_one(std::size_t row, std::size_t column, const Report& report);
  void add(std::size_t row, std::size_t column, const Cell& cell);
  void flush(std::size_t row);
  void read(std::size_t row, std::size_t column, std::span<Cell> cells) const;
  void write(std::size_t row, std::size_t column, std::span<const Cell> cells);
  std::vector<double> column_medians() const;

  std::filesystem::path file_;
  std::size_t n_;
  bool both_ways_, verify_;
  std::uint64_t verified_ = 0;
  Descriptor out_;
  std::vector<std::vector<Pending>> pending_;  ///< by row: successive opponents are neighbours, and so are their cells
};

}  // namespace linkmatrix::ranks
