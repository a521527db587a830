#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Returns the text of a file that an option names. content: description of the expected content, such as "the groups
/// of the nodes", for messages. Throws BadInput with the option and the file if the file is not a regular file, is
/// larger than 64 MiB or cannot be read.
std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view content);

}  // namespace linkmatrix
