#include "program/option_values.hpp"

#include <algorithm>

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
    throw BadInput(std::string(option) + " begins at " + low + " and ends at " + high +
                   ": name the smaller size first");
  return range;
}

}  // namespace

std::vector<int> parse_devices(std::string_view text) {
  std::vector<int> devices;
  for (const std::string& part : split(text, ',')) {
    const int device = parse_count("--devices", part, 0, 1023);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      throw BadInput("--devices '" + std::string(text) + "' names device " + part + " twice: name each once");
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
