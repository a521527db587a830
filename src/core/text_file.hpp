#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace linkmatrix {

/// The whole text of a file that an option names; `what` it should have, in words: "the groups of the nodes". Throws
/// BadInput naming the option and the file where it is none, is larger than 64 MiB or cannot be read.
std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view what);

}  // namespace linkmatrix
