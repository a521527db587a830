#pragma once

#include <functional>
#include <string>

#include "core/error.hpp"

namespace linkmatrix {

/// What bad input is refused with; empty where it was taken.
inline std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace linkmatrix
