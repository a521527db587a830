#include "core/command_line.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

/// Levenshtein distance.
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

}  // namespace

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), [&](const std::string& a, const std::string& b) {
    return distance(text, a) < distance(text, b);
  });
}

void parse_command_line(std::span<char* const> arguments, const std::vector<Option>& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("-"))
      throw BadInput("'" + std::string(argument) + "' is no option: --help lists what can be said");
    const std::size_t equals = argument.find('=');
    const Option& option = find(options, argument.substr(0, equals));
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
}

std::string options_text(const std::vector<Option>& options) {
  std::ostringstream out;
  for (const Option& option : options) {
    std::string left = "  " + std::string(option.name);
    if (!option.value.empty()) left += " " + std::string(option.value);
    left.resize(std::max<std::size_t>(left.size() + 2, 32), ' ');
    out << left << option.help << '\n';
  }
  return out.str();
}

}  // namespace linkmatrix
