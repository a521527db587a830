#include "program/program_main.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>

#include "run/output.hpp"
#include "run/signals.hpp"

namespace linkmatrix {
namespace {

const char* running = "";
Supervisor* supervising = nullptr;

/// Handler of std::terminate: writes the record. Without memory, some functions of the standard library terminate.
[[noreturn]] void end_in_order() {
  Ending ending = broken("std::terminate");  // short, so that the string needs no allocation
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    ending = ending_of(e);
  } catch (...) {  // no std::exception
  }
  if (supervising != nullptr) supervising->break_off(std::move(ending));
  print_error(running, ending.error.value_or(""));
  std::_Exit(static_cast<int>(ExitCode::device_error));
}

/// Variables with the number of ranks: Open MPI, PMI (MPICH, Intel MPI, srun --mpi=pmi2), Slurm (srun --mpi=pmix).
constexpr std::array size_variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
/// Variables that launchers set only for MPI ranks, unlike SLURM_STEP_NUM_TASKS.
constexpr std::array rank_variables{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

constexpr std::size_t kept_back =
    8 << 20;  // enough for a record of some hundred endpoints; untouched pages cost nothing

std::atomic<void*> reserve{nullptr};

void let_go() {
  std::free(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

}  // namespace

Supervisor& supervisor_of(const char* program) {
  if (supervising == nullptr) supervising = new Supervisor({.program = program});
  return *supervising;
}

ExitCode print_text(const std::string& text) {
  Output output(STDOUT_FILENO);
  output.print(text);
  if (const auto why = output.failure()) throw BadInput(*why);
  return ExitCode::measured;
}

int program_main(const char* program, const std::function<ExitCode()>& act) {
  running = program;
  open_missing_streams();
  reserve_ending_memory();
  std::set_terminate(end_in_order);
  try {
    return static_cast<int>(act());
  } catch (const std::exception& e) {
    const Ending ending = ending_of(e);
    print_error(program, ending.error.value_or(""));
    return static_cast<int>(ending.code);
  }
}

bool started_by_mpirun() {
  if (std::none_of(rank_variables.begin(), rank_variables.end(), is_set)) return false;
  for (const char* name : size_variables)
    if (is_set(name)) return std::atoi(std::getenv(name)) > 1;
  return true;  // the launcher sets no number of ranks, so there may be several
}

int launched_ranks() {
  const auto known = std::find_if(size_variables.begin(), size_variables.end(), is_set);
  return known == size_variables.end() ? 1 : std::max(1, std::atoi(std::getenv(*known)));
}

int launched_rank() {
  const auto known = std::find_if(rank_variables.begin(), rank_variables.end(), is_set);
  return known == rank_variables.end() ? 0 : std::atoi(std::getenv(*known));
}

void reserve_ending_memory() {
  std::free(reserve.exchange(std::malloc(kept_back)));
  std::set_new_handler(let_go);
}

}  // namespace linkmatrix
