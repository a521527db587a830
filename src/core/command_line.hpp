#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {

/// One row of a program's option table.
struct Option {
  std::string_view name;   ///< "--size"
  std::string_view value;  ///< placeholder of the value in --help, such as "BYTES"; empty: the option has no value
  std::string help;
  std::function<void(std::string_view)> apply;  ///< throws BadInput
};

/// Applies the row of each argument, "--size 4MiB" or "--size=4MiB". Returns the names of the given options, in their
/// order on the command line. Throws BadInput for an unknown option (with the nearest known option), a missing value,
/// an unexpected value, or an argument that is not an option.
std::vector<std::string_view> parse_command_line(std::span<char* const> arguments, const std::vector<Option>& options);

/// Returns the text of --help for these rows. Descriptions are wrapped in their own column.
std::string options_text(const std::vector<Option>& options);

/// Returns the candidate with the smallest edit distance to `text`.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

/// Parses each part of "A,B,C" with `parse`. noun: what the parts are, such as "size". Throws BadInput if two parts
/// have the same value.
template <class Parse>
auto parse_list(std::string_view option, std::string_view text, std::string_view noun, const Parse& parse) {
  std::vector<std::invoke_result_t<Parse, const std::string&>> values;
  for (const std::string& part : split(text, ',')) {
    const auto value = parse(part);
    if (std::ranges::find(values, value) != values.end())
      throw BadInput(std::string(option) + " '" + std::string(text) + "' names " + part + " twice: name each " +
                     std::string(noun) + " once");
    values.push_back(value);
  }
  return values;
}

/// Returns the test cases with these names, in this order. name: member of a test case that contains or returns its
/// name. Throws BadInput for an unknown name, with the nearest known name, and for a name that occurs twice.
template <class TestCases, class Name>
auto named_in(const TestCases& all, const std::vector<std::string>& names, Name name) {
  std::vector<std::ranges::range_value_t<TestCases>> found;
  for (const std::string& wanted : names) {
    const auto row = std::ranges::find(all, wanted, name);
    if (row == all.end()) {
      std::vector<std::string> known;
      for (const auto& one : all) known.emplace_back(std::invoke(name, one));
      throw BadInput("unknown --testcase '" + wanted + "': did you mean " + nearest(wanted, known) +
                     "? --list shows all");
    }
    if (std::ranges::find(found, wanted, name) != found.end())
      throw BadInput("--testcase names " + wanted + " twice: name each test case once");
    found.push_back(*row);
  }
  return found;
}

/// Returns the text of a file that an option names. content: description of the expected content, such as "the groups
/// of the nodes", for messages. Throws BadInput with the option and the file if the file is not a regular file, is
/// larger than 64 MiB or cannot be read.
std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view content);

}  // namespace linkmatrix
