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
  std::string help;        ///< description in --help
  std::function<void(std::string_view)> apply;  ///< parses and stores the value; throws BadInput
};

/// Calls `apply` for each option on the command line, "--size 4MiB" or "--size=4MiB". arguments: argv, with the
/// program's name first. Returns the names of the given options in order. Throws BadInput for an unknown option (with
/// the nearest known option), a missing or unexpected value, and an argument that is not an option.
std::vector<std::string_view> parse_command_line(std::span<char* const> arguments, const std::vector<Option>& options);

/// Returns the text of --help for these rows, with wrapped descriptions in a second column.
std::string options_text(const std::vector<Option>& options);

/// Returns the candidate with the smallest edit distance to `text`. `candidates` must not be empty.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

/// Parses each part of "A,B,C" with `parse`. noun: name of a part for messages, such as "size". Throws BadInput if two
/// parts have the same value.
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

/// Returns the test cases with these names, in this order. name: pointer to the member that contains or returns the
/// name of a test case. Throws BadInput for a repeated or unknown name, with the nearest known name.
template <class TestCases, class Name>
auto select_by_name(const TestCases& all, const std::vector<std::string>& names, Name name) {
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

/// Returns the content of a file. option: the option that names the file. content: expected content for messages, such
/// as "the groups of the nodes". Throws BadInput if the file is not regular, larger than 64 MiB, or not readable.
std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view content);

}  // namespace linkmatrix
