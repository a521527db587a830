#pragma once

#include <filesystem>
#include <memory>

#include "core/guarded.hpp"
#include "core/result.hpp"
#include "measure/engine.hpp"
#include "ranks/network.hpp"
#include "ranks/rank_table.hpp"

namespace linkmatrix::ranks {

/// Where the cells of a matrix between ranks go: into the record, or those of a large one into a file beside it.
class NetworkCells {
 public:
  NetworkCells(const RankTable& table, const std::filesystem::path& record, const NetworkCase& matrix_case)
      : table_{table}, record_{record}, matrix_case_{matrix_case} {}

  /// For the record's last result. Cells that the rounds do not have do not apply; few: none does until it is chosen.
  std::unique_ptr<Store> make_store(const RankRounds& rounds, bool few, Guarded<Record>& record) const;

  /// All cells are there: adds what follows from them.
  void finish(Store& store) const;

 private:
  std::unique_ptr<Store> in_file(const RankRounds& rounds, bool few, Guarded<Record>& record) const;
  void name_transports(MatrixResult& result) const;

  const RankTable& table_;
  const std::filesystem::path& record_;
  const NetworkCase& matrix_case_;
};

}  // namespace linkmatrix::ranks
