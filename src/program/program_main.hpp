#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/error.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// What every program's main does: whatever `act` throws, and whatever can be caught by nobody, ends in one sentence,
/// an exit code and, where a supervisor is at work, its record.
int program_main(const char* program, const std::function<ExitCode()>& act);

/// The supervisor of this process, made when it is first asked for and never destroyed: it watches until the process is
/// gone, over what the libraries do at the very end too.
Supervisor& supervisor_of(const char* program);

/// To standard output, whole. Throws BadInput where it cannot be written.
ExitCode print_text(const std::string& text);

/// The main function of a program: parses its options, then prints the text that they ask for, or runs.
template <class Options>
int program_main(const char* program, int argc, char** argv, Options (*parse)(std::span<char* const>),
                 ExitCode (*run)(const Options&, Supervisor&)) {
  return program_main(program, [&] {
    const Options options = parse(std::span<char* const>(argv, static_cast<std::size_t>(argc)));
    return options.print != nullptr ? print_text(options.print()) : run(options, supervisor_of(program));
  });
}

/// Whether this process is one of several that mpirun, or another launcher of MPI, started. By what launchers leave in
/// the environment, so that a program without MPI knows it too.
bool started_by_mpirun();

/// This process's number among them; 0 where no launcher says.
int launched_rank();

/// How many there are; 1 where no launcher says.
int launched_ranks();

/// From now on memory is kept back for the end of the run. The first allocation that fails lets it go, and fails all
/// the same: what then writes the record, and says why, has some.
void keep_memory_back();

}  // namespace linkmatrix
