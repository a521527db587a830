#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace linkmatrix {

/// Whether a note of the result says so.
inline bool has_note(const MatrixResult& result, std::string_view text) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace linkmatrix
