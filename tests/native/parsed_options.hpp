#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace linkmatrix {

/// Parses words as the command line of a program.
template <class Options>
Options parsed(Options parse(std::span<char* const>), std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse(arguments);
}

/// Returns the message of BadInput that `action` throws; "" without one.
inline std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace linkmatrix
