#include "core/command_line.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

/// Returns the Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

const Option& find(const std::vector<Option>& options, std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return option;
  std::vector<std::string> known;
  for (const Option& option : options) known.emplace_back(option.name);
  throw BadInput("unknown option '" + std::string(name) + "': did you mean " + nearest(name, known) +
                 "? --help lists all");
}

constexpr std::size_t help_column = 28, help_width = 96;

/// Returns the width of a text on a terminal: its number of UTF-8 characters.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Appends the words of a text, wrapped in the help's column. at: column at the end of `out`.
void append_wrapped(std::string& out, std::string_view text, std::size_t at) {
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const bool begins = at <= help_column;
    if (at + (begins ? 0 : 1) + columns(word) > help_width && !begins) {
      out += '\n';
      at = 0;
    }
    const std::size_t gap = at < help_column ? help_column - at : begins ? 0 : 1;
    out += std::string(gap, ' ') + word;
    at += gap + columns(word);
  }
  out += '\n';
}

constexpr std::uintmax_t most_bytes = 64 << 20;

}  // namespace

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  // Prefer options that begin with the text: "--test" means "--testcase", not "--list" with two wrong letters.
  const auto far = [&](const std::string& known) { return std::pair(!known.starts_with(text), distance(text, known)); };
  return *std::ranges::min_element(candidates, {}, far);
}

std::vector<std::string_view> parse_command_line(std::span<char* const> arguments, const std::vector<Option>& options) {
  std::vector<std::string_view> given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("-"))
      throw BadInput("'" + std::string(argument) + "' is not an option: --help lists all options");
    const std::size_t equals = argument.find('=');
    const Option& option = find(options, argument.substr(0, equals));
    given.push_back(option.name);
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos) value = argument.substr(equals + 1);
    if (option.value.empty()) {
      if (value) throw BadInput(std::string(option.name) + " takes no value");
      option.apply({});
      continue;
    }
    if (!value) {
      if (++i == arguments.size())
        throw BadInput(std::string(option.name) + " needs a value: " + std::string(option.name) + " " +
                       std::string(option.value));
      value = arguments[i];
    }
    option.apply(*value);
  }
  return given;
}

std::string options_text(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options) {
    std::string head = "  " + std::string(option.name);
    if (!option.value.empty()) head += " " + std::string(option.value);
    const bool fits = columns(head) + 2 <= help_column;
    out += head + (fits ? "" : "\n");
    append_wrapped(out, option.help, fits ? columns(head) : 0);
  }
  return out;
}

std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view content) {
  const std::string subject = std::string(option) + " " + file.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > most_bytes)
    throw BadInput(subject + " is not a readable file: name a file with " + std::string(content));
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw BadInput(subject + " cannot be read");
  return text;
}

}  // namespace linkmatrix
