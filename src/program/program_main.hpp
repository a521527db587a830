#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/error.hpp"
#include "core/run_times.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Runs `act` as the main function of a program. Every exception, also one that terminates, ends in one sentence, an
/// exit code and, with a supervisor, a record.
int program_main(const char* program, const std::function<ExitCode()>& act);

/// Returns the supervisor of this process, created at the first call and never destroyed, because it also watches the
/// libraries' exit handlers.
Supervisor& supervisor_of(const char* program);

/// Prints a text completely to standard output. Throws BadInput if this fails.
ExitCode print_text(const std::string& text);

/// Returns the rank from the launcher; 0 if unknown.
int launched_rank();

/// Main function of a program: parses its options, then prints the requested text or measures.
template <class Options>
int program_main(const char* program, int argc, char** argv, Options (*parse)(std::span<char* const>),
                 ExitCode (*run)(const Options&, Supervisor&)) {
  return program_main(program, [&] {
    const Options options = parse(std::span<char* const>(argv, static_cast<std::size_t>(argc)));
    if (options.print != nullptr) return print_text(options.print());
    const ExitCode code = run(options, supervisor_of(program));
    if (options.timing && launched_rank() == 0) print_text(timing_text());
    return code;
  });
}

/// Returns whether an MPI launcher started this process as one of several, from environment variables, so that it works
/// without MPI.
bool started_by_mpirun();

/// Returns the number of ranks from the launcher; 1 if unknown.
int launched_ranks();

/// Reserves memory for the end of the run. The first failing allocation releases it and still fails; writing the record
/// then has memory.
void keep_memory_back();

}  // namespace linkmatrix
