#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace linkmatrix {

/// Reads the words of a text, as a shell would give them without quotes, as options of a program.
template <class Options>
void read_options(const std::string& text, Options parse(std::span<char* const>)) {
  std::vector<std::string> words{"program"};
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find_first_of(" \n", from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  parse(arguments);
}

}  // namespace linkmatrix
