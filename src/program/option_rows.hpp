#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/command_line.hpp"
#include "measure/engine.hpp"
#include "program/option_table.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {

/// Option rows shared by several programs. Each keeps a reference to the field that it sets.

Option samples_option(ProgramOptions& options);
/// percent: default value of the program.
Option target_option(ProgramOptions& options, std::string_view percent);
/// of: text such as "of one matrix". seconds: default value of the program.
Option max_time_option(ProgramOptions& options, std::string_view of, std::string_view seconds = "60");
Option timeout_option(ProgramOptions& options);
Option record_option(ProgramOptions& options);
Option asked_by_option(ProgramOptions& options);
Option max_display_option(ProgramOptions& options);
Option timing_option(ProgramOptions& options);
Option wait_idle_option(ProgramOptions& options);
Option refuse_busy_option(ProgramOptions& options);
Option ignore_processes_option(ProgramOptions& options);
/// Returns an option that prints a text instead of measuring, such as --help.
Option print_option(ProgramOptions& options, std::string_view name, std::string_view help, std::string (*text)());

/// Conditions of such rows.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> keeps_record{[](auto& o, auto&) { return o.record.has_value(); },
                                                       "only a record contains it: add --record FILE"};
/// Holds if a serial measurement can have the simulated fault.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> fault_has_effect{
    [](auto& o, auto&) { return o.fault && o.fault->is_of_all(o.measure.verify); },
    "no measurement can have this fault: omit it, or choose another one of --help ('corrupt': without --no-verify)"};

/// Parsers of option values. All throw BadInput naming the option.

/// Parses device numbers, "0,2,5".
std::vector<int> parse_devices(std::string_view text);

/// Parses a size, including 0 for latencies between ranks. Callers reject 0 otherwise.
std::uint64_t parse_message(std::string_view option, std::string_view text);

/// Returns the sizes of "MIN:MAX[:FACTOR]".
std::vector<std::uint64_t> parse_sweep(std::string_view text);

/// Returns the random sizes of "COUNT:MIN:MAX".
std::vector<std::uint64_t> parse_random(std::string_view text, int seed);

/// Parses "on" or "off".
bool parse_switch(std::string_view option, std::string_view text);

}  // namespace linkmatrix
