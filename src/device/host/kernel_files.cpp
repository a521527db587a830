#include "device/host/kernel_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_text = 256;  // a longer text is no fact
constexpr std::string_view lies_on = "lower_";

}  // namespace

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  const bool printable = std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return printable && line.size() <= most_text ? line : "";
}

std::optional<double> number_of(const fs::path& file) {
  const std::string text = first_line(file);
  double value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> lower_interfaces(const fs::path& interface) {
  std::vector<std::string> found;
  for (const fs::path& entry : entries(interface))
    if (const std::string name = entry.filename().string(); name.starts_with(lies_on))
      found.push_back(name.substr(lies_on.size()));
  return found;
}

}  // namespace linkmatrix
