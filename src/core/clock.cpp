#include "core/clock.hpp"

#include <cstring>

namespace linkmatrix {

std::string stop_reason() {
  const int signal = stop_signal;
  return signal == 0 ? "" : std::string("ended by signal ") + ::strsignal(signal);
}

}  // namespace linkmatrix
