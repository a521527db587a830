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

/// Rows that the option tables of several programs have; each keeps a reference to what it fills in.

Option samples_option(ProgramOptions& options);
/// percent: the program's own.
Option target_option(ProgramOptions& options, std::string_view percent);
/// of: "of one matrix". seconds: the program's own.
Option max_time_option(ProgramOptions& options, std::string_view of, std::string_view seconds = "60");
Option timeout_option(ProgramOptions& options);
Option record_option(ProgramOptions& options);
Option asked_by_option(ProgramOptions& options);
Option max_display_option(ProgramOptions& options);
Option wait_idle_option(ProgramOptions& options);
Option refuse_busy_option(ProgramOptions& options);
Option ignore_processes_option(ProgramOptions& options);
/// An option such as --help, which prints a text and measures nothing.
Option print_option(ProgramOptions& options, std::string_view name, std::string_view help, std::string (*text)());

/// Conditions of such rows.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> keeps_record{[](auto& o, auto&) { return o.record.has_value(); },
                                                       "only a record contains it: add --record FILE"};
/// Where cells are measured one by one.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> fault_has_effect{
    [](auto& o, auto&) { return o.fault && o.fault->is_of_all(o.measure.verify); },
    "no measurement can have this fault: omit it, or choose another one of --help ('corrupt': without --no-verify)"};

/// What may follow options that several programs have; all throw BadInput naming the option.

/// "0,2,5".
std::vector<int> parse_devices(std::string_view text);

/// A size; 0 too, which a latency between ranks is asked of: whoever cannot have empty messages says so.
std::uint64_t parse_message(std::string_view option, std::string_view text);

/// The sizes of "MIN:MAX[:FACTOR]".
std::vector<std::uint64_t> parse_sweep(std::string_view text);

/// The sizes of "COUNT:MIN:MAX".
std::vector<std::uint64_t> parse_random(std::string_view text, int seed);

/// "on" or "off".
bool parse_switch(std::string_view option, std::string_view text);

}  // namespace linkmatrix
