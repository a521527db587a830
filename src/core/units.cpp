#include "core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> suffixes{
    {{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}, {"", 1}}};

template <class T>
bool parse_all(std::string_view text, T& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size();
}

/// Returns the shortest text of a number: 0.1, not 0.100000.
std::string written(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

BadInput bad_value(std::string_view option, std::string_view text, const std::string& wanted) {
  return BadInput(std::string(option) + " '" + std::string(text) + "': use " + wanted);
}

}  // namespace

std::uint64_t parse_size(std::string_view option, std::string_view text) {
  for (const auto& [suffix, factor] : suffixes) {
    if (!text.ends_with(suffix)) continue;
    std::string_view digits = text.substr(0, text.size() - suffix.size());
    while (digits.ends_with(' ')) digits.remove_suffix(1);
    std::uint64_t count = 0;
    if (parse_all(digits, count) && count > 0 && count <= (std::uint64_t{1} << 50) / factor) return count * factor;
    break;
  }
  throw bad_value(option, text, "a size of 1 byte to 1 PiB, such as 512MiB, 64KiB or 4096");
}

std::string format_size(std::uint64_t bytes) {
  for (const auto& [suffix, factor] : suffixes)
    if (bytes >= factor && bytes % factor == 0) return std::to_string(bytes / factor) + " " + std::string(suffix);
  return std::to_string(bytes) + " B";
}

double parse_number(std::string_view option, std::string_view text, double low, double high) {
  double value = 0;
  if (parse_all(text, value) && std::isfinite(value) && value >= low && value <= high) return value;
  throw bad_value(option, text, "a number from " + written(low) + " to " + written(high));
}

int parse_count(std::string_view option, std::string_view text, int low, int high) {
  int value = 0;
  if (parse_all(text, value) && value >= low && value <= high) return value;
  throw bad_value(option, text, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const auto& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

}  // namespace linkmatrix
