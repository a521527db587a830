#include "program/option_rows.hpp"

#include <limits>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {

Option samples_option(MeasureOptions& measure) {
  return {"--samples", "N", "samples of a cell before it may stop (default: 7; at most four times as many)",
          [&measure](auto v) {
            measure.stop.min_samples = parse_count("--samples", v, 1, 10000);
            measure.stop.max_samples = 4 * measure.stop.min_samples;
          }};
}

Option target_option(MeasureOptions& measure, std::string_view percent) {
  return {"--target-ci", "PERCENT",
          "stop when the median's interval is within ± this (default: " + std::string(percent) + ")",
          [&measure](auto v) {
            measure.stop.target = parse_number("--target-ci", v, 0.001, 100) / 100;
            measure.stop.patience = std::numeric_limits<double>::infinity();  // it was asked for
          }};
}

Option max_time_option(MeasureOptions& measure, std::string_view of, std::string_view seconds) {
  return {"--max-time", "SECONDS",
          std::string(of) + ": then one sample for each cell left (default: " + std::string(seconds) + ")",
          [&measure](auto v) { measure.max_seconds = parse_number("--max-time", v, 0.001, 86400); }};
}

Option timeout_option(ProgramOptions& options) {
  return {"--timeout", "SECONDS", "of the whole run; what was measured by then is kept (default: 600)",
          [&options](auto v) { options.timeout = parse_number("--timeout", v, 0.001, 604800); }};
}

Option record_option(ProgramOptions& options) {
  return {"--record", "FILE", "write everything as JSON, schema linkmatrix.record/2", [&options](auto v) {
            if (v.empty()) throw BadInput("--record '': name a file");
            options.record = v;
          }};
}

Option asked_by_option(ProgramOptions& options) {
  return {"--asked-by", "NAME", "the check that asks, for the record", [&options](auto v) { options.asked_by = v; }};
}

Option max_display_option(ProgramOptions& options) {
  return {"--max-display", "N", "print at most N rows and columns (default: 16)", [&options](auto v) {
            options.max_display = static_cast<std::size_t>(parse_count("--max-display", v, 1, 100000));
          }};
}

Option wait_idle_option(ProgramOptions& options) {
  return {"--wait-idle", "SECONDS",
          "wait at most so long until no other process disturbs, then measure all the same (default: 0)",
          [&options](auto v) { options.wait_idle = parse_number("--wait-idle", v, 0.001, 86400); }};
}

Option refuse_busy_option(ProgramOptions& options) {
  return {"--refuse-busy", "", "measure nothing where another process disturbs, after --wait-idle (exit code 3)",
          [&options](auto) { options.refuse_busy = true; }};
}

Option ignore_processes_option(ProgramOptions& options) {
  return {"--ignore-processes", "NAME:USER[,…]",
          "processes that disturb nothing, by executable and user, e.g. nv-hostengine:root; * stands for any",
          [&options](auto v) { options.ignored = parse_ignored_processes(v); }};
}

}  // namespace linkmatrix
