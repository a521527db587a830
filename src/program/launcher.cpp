#include "program/launcher.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace linkmatrix {
namespace {

/// How many ranks there are: Open MPI, PMI (MPICH, Intel MPI, srun --mpi=pmi2), Slurm (srun --mpi=pmix).
constexpr std::array size_variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
/// Set for ranks only: SLURM_STEP_NUM_TASKS alone also counts the tasks of a step that knows no MPI.
constexpr std::array rank_variables{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

bool started_by_mpirun() {
  if (std::none_of(rank_variables.begin(), rank_variables.end(), is_set)) return false;
  for (const char* name : size_variables)
    if (is_set(name)) return std::atoi(std::getenv(name)) > 1;
  return true;  // a launcher that does not say how many: there may be others
}

int launched_ranks() {
  const auto known = std::find_if(size_variables.begin(), size_variables.end(), is_set);
  return known == size_variables.end() ? 1 : std::max(1, std::atoi(std::getenv(*known)));
}

int launched_rank() {
  const auto known = std::find_if(rank_variables.begin(), rank_variables.end(), is_set);
  return known == rank_variables.end() ? 0 : std::atoi(std::getenv(*known));
}

}  // namespace linkmatrix
