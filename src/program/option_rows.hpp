#pragma once

#include <string>
#include <string_view>

#include "core/command_line.hpp"
#include "measure/engine.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {

/// Rows that the option tables of several programs have; each keeps a reference to what it fills in.

Option samples_option(MeasureOptions& measure);
/// percent: the program's own.
Option target_option(MeasureOptions& measure, std::string_view percent);
/// of: "of one matrix". seconds: the program's own.
Option max_time_option(MeasureOptions& measure, std::string_view of, std::string_view seconds = "60");
Option timeout_option(ProgramOptions& options);
Option record_option(ProgramOptions& options);
Option asked_by_option(ProgramOptions& options);
Option max_display_option(ProgramOptions& options);
Option wait_idle_option(ProgramOptions& options);
Option refuse_busy_option(ProgramOptions& options);
Option ignore_processes_option(ProgramOptions& options);

}  // namespace linkmatrix
