#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/error.hpp"
#include "core/run_times.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Runs `act` as the main function of a program and returns its exit code. An exception prints one sentence and, with a
/// supervisor, writes the record. Also handles std::terminate.
int program_main(const char* program, const std::function<ExitCode()>& act);

/// Returns the supervisor of this process. Created at the first call and never destroyed, so that it also limits the
/// time of the libraries' exit handlers.
Supervisor& supervisor_of(const char* program);

/// Prints a text to standard output. Throws BadInput if not all of it was written.
ExitCode print_text(const std::string& text);

/// Returns the rank in the launcher's environment variables; 0 if unknown.
int launched_rank();

/// Main function of a measuring program: parses the options, then prints the requested text or measures.
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

/// Returns whether an MPI launcher started this process as one of several. Reads environment variables, so it works in
/// builds without MPI.
bool started_by_mpirun();

/// Returns the number of ranks in the launcher's environment variables; 1 if unknown.
int launched_ranks();

/// Reserves 8 MiB for the end of the run. The first failing allocation releases it and still fails, so that the record
/// can be written.
void reserve_ending_memory();

}  // namespace linkmatrix
