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
  std::string_view value;  ///< what follows it in --help, "BYTES"; empty: a switch
  std::string help;
  std::function<void(std::string_view)> apply;  ///< throws BadInput
};

/// Applies each argument's row: "--size 4MiB" or "--size=4MiB". Returns the names of the rows, in the order in which
/// they were given. Throws BadInput for an unknown option (naming the nearest known one), a missing value, a value
/// given to a switch, or an argument that is no option.
std::vector<std::string_view> parse_command_line(std::span<char* const> arguments, const std::vector<Option>& options);

/// The rows as text for --help: what they do is wrapped, in a column of its own, below a head that is too long for it.
std::string options_text(const std::vector<Option>& options);

/// The candidate that differs from `text` by the fewest letters.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

/// The whole text of a file that an option names; `what` it should have, in words: "the groups of the nodes". Throws
/// BadInput naming the option and the file where it is none, is larger than 64 MiB or cannot be read.
std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view content);

}  // namespace linkmatrix
