#pragma once

#include <functional>
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

}  // namespace linkmatrix
