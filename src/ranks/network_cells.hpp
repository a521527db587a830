#pragma once

#include <filesystem>
#include <memory>

#include "core/guarded.hpp"
#include "core/result.hpp"
#include "measure/engine.hpp"
#include "ranks/network.hpp"
#include "ranks/rank_table.hpp"

namespace linkmatrix::ranks {

/// Creates the Store of a matrix between ranks: ResultStore, or CellFile for a large matrix.
class NetworkCells {
 public:
  NetworkCells(const RankTable& table, const std::filesystem::path& record, const NetworkCase& matrix_case)
      : table_{table}, record_{record}, matrix_case_{matrix_case} {}

  /// Creates the store for the record's last result. Cells outside the rounds become not_applicable. few: all cells
  /// become not_applicable until they are measured.
  std::unique_ptr<Store> make_store(const RankRounds& rounds, bool few, Guarded<Record>& record) const;

  /// Adds derived values after the last cell.
  void finish(Store& store) const;

 private:
  std::unique_ptr<Store> in_file(const RankRounds& rounds, bool few, Guarded<Record>& record) const;
  void name_transports(MatrixResult& result) const;

  const RankTable& table_;
  const std::filesystem::path& record_;
  const NetworkCase& matrix_case_;
};

}  // namespace linkmatrix::ranks
