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

// Options of several programs. Each row keeps a reference to `options` and sets one of its fields.

Option samples_option(ProgramOptions& options);
/// --target-ci. percent: default for --help.
Option target_option(ProgramOptions& options, std::string_view percent);
/// --max-time. scope: such as "of one matrix". seconds: default for --help.
Option max_time_option(ProgramOptions& options, std::string_view scope, std::string_view seconds = "60");
Option timeout_option(ProgramOptions& options);
Option record_option(ProgramOptions& options);
Option asked_by_option(ProgramOptions& options);
Option max_display_option(ProgramOptions& options);
Option timing_option(ProgramOptions& options);
Option wait_idle_option(ProgramOptions& options);
Option refuse_busy_option(ProgramOptions& options);
Option ignore_processes_option(ProgramOptions& options);
/// Returns an option without a value that prints text() instead of measuring, such as --help.
Option print_option(ProgramOptions& options, std::string_view name, std::string_view help, std::string (*text)());

/// Condition of options that only affect the record.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> keeps_record{[](auto& o, auto&) { return o.record.has_value(); },
                                                       "only a record contains it: add --record FILE"};
/// Condition of --simulate-fault in programs that measure serially.
template <class Options, class Scope>
constexpr OptionCondition<Options, Scope> fault_has_effect{
    [](auto& o, auto&) { return o.fault && o.fault->can_be_serial(o.measure.verify); },
    "no measurement can have this fault: omit the option, or choose another one of --help ('corrupt': without "
    "--no-verify)"};

// Parsers of option values. All throw BadInput naming the option.

/// Parses device numbers, "0,2,5".
std::vector<int> parse_devices(std::string_view text);

/// Parses a size in bytes that may be 0, for latencies between ranks.
std::uint64_t parse_message(std::string_view option, std::string_view text);

/// Parses "MIN:MAX[:FACTOR]". Returns sweep_sizes().
std::vector<std::uint64_t> parse_sweep(std::string_view text);

/// Parses "COUNT:MIN:MAX". Returns random_sizes().
std::vector<std::uint64_t> parse_random(std::string_view text, int seed);

/// Parses "on" or "off".
bool parse_switch(std::string_view option, std::string_view text);

}  // namespace linkmatrix
