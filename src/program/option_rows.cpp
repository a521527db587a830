#include "program/option_rows.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

struct SizeRange {
  std::uint64_t low, high;
};

SizeRange parse_range(std::string_view option, const std::string& low, const std::string& high) {
  const SizeRange range{parse_message(option, low), parse_size(option, high)};
  if (range.low > range.high)
    throw BadInput(std::string(option) + " starts at " + low + " and ends at " + high +
                   ": give the smaller size first");
  return range;
}

}  // namespace

Option samples_option(ProgramOptions& options) {
  return {"--samples", "N", "minimum number of samples per cell (default: 7); the maximum is four times as many",
          [&options](auto v) {
            options.measure.stop.min_samples = parse_count("--samples", v, 1, 10000);
            options.measure.stop.max_samples = 4 * options.measure.stop.min_samples;
          }};
}

Option target_option(ProgramOptions& options, std::string_view percent) {
  return {"--target-ci", "PERCENT",
          "stop sampling a cell when the interval of its median is within ± PERCENT of the median (default: " +
              std::string(percent) + ")",
          [&options](auto v) {
            options.measure.stop.target = parse_number("--target-ci", v, 0.001, 100) / 100;
            options.measure.is_target_given = true;
            options.measure.stop.patience =
                std::numeric_limits<double>::infinity();  // with an explicit target, only --max-time limits a cell
          }};
}

Option max_time_option(ProgramOptions& options, std::string_view scope, std::string_view seconds) {
  return {"--max-time", "SECONDS",
          "time limit " + std::string(scope) +
              "; cells that remain then get one sample each (default: " + std::string(seconds) + ")",
          [&options](auto v) { options.measure.max_seconds = parse_number("--max-time", v, 0.001, 86400); }};
}

Option timeout_option(ProgramOptions& options) {
  return {"--timeout", "SECONDS", "time limit of the whole run; earlier results are kept (default: 600)",
          [&options](auto v) { options.timeout = parse_number("--timeout", v, 0.001, 604800); }};
}

Option record_option(ProgramOptions& options) {
  return {"--record", "FILE", "write all results as JSON, schema linkmatrix.record/2", [&options](auto v) {
            if (v.empty()) throw BadInput("--record '': name a file");
            options.record = v;
          }};
}

Option asked_by_option(ProgramOptions& options) {
  return {"--asked-by", "NAME", "name of the calling check, for the record",
          [&options](auto v) { options.asked_by = v; }};
}

Option max_display_option(ProgramOptions& options) {
  return {"--max-display", "N", "print at most N rows and columns (default: 16)", [&options](auto v) {
            options.max_display = static_cast<std::size_t>(parse_count("--max-display", v, 1, 100000));
          }};
}

Option timing_option(ProgramOptions& options) {
  return {"--timing", "", "print the time of each phase of the run at the end",
          [&options](auto) { options.timing = true; }};
}

Option wait_idle_option(ProgramOptions& options) {
  return {"--wait-idle", "SECONDS",
          "wait at most this long until no other process uses the node, then measure anyway (default: 0)",
          [&options](auto v) { options.wait_idle = parse_number("--wait-idle", v, 0.001, 86400); }};
}

Option refuse_busy_option(ProgramOptions& options) {
  return {"--refuse-busy", "", "do not measure if another process still uses the node after --wait-idle (exit code 3)",
          [&options](auto) { options.refuse_busy = true; }};
}

Option ignore_processes_option(ProgramOptions& options) {
  return {"--ignore-processes", "NAME:USER[,…]",
          "processes that are not disturbances, by executable and user, e.g. nv-hostengine:root; * matches any",
          [&options](auto v) { options.ignored = parse_ignored_processes(v); }};
}

Option print_option(ProgramOptions& options, std::string_view name, std::string_view help, std::string (*text)()) {
  return {name, "", std::string(help), [&options, text](auto) { options.print = text; }};
}

std::vector<int> parse_devices(std::string_view text) {
  std::vector<int> devices;
  for (const std::string& part : split(text, ',')) {
    const int device = parse_count("--devices", part, 0, 1023);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      throw BadInput("--devices '" + std::string(text) + "' names device " + part + " twice: name each device once");
    devices.push_back(device);
  }
  return devices;
}

std::uint64_t parse_message(std::string_view option, std::string_view text) {
  return text == "0" ? 0 : parse_size(option, text);
}

std::vector<std::uint64_t> parse_sweep(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3)
    throw BadInput("--sweep '" + std::string(text) + "': use MIN:MAX or MIN:MAX:FACTOR, such as 4KiB:512MiB:2");
  const auto [low, high] = parse_range("--sweep", parts[0], parts[1]);
  return sweep_sizes(low, high, parts.size() == 3 ? parse_number("--sweep", parts[2], 1.01, 1024) : 2);
}

std::vector<std::uint64_t> parse_random(std::string_view text, int seed) {
  const auto parts = split(text, ':');
  if (parts.size() != 3)
    throw BadInput("--random-sizes '" + std::string(text) + "': use COUNT:MIN:MAX, such as 10:1KiB:64MiB");
  const int count = parse_count("--random-sizes", parts[0], 1, 10000);
  const auto [low, high] = parse_range("--random-sizes", parts[1], parts[2]);
  return random_sizes(static_cast<std::size_t>(count), low, high, static_cast<std::uint64_t>(seed));
}

bool parse_switch(std::string_view option, std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw BadInput(std::string(option) + " '" + std::string(text) + "': use on or off");
}

}  // namespace linkmatrix
