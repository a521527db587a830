#pragma once

#include <stdexcept>
#include <string>

namespace linkmatrix {

/// Exit codes of every native program.
enum class ExitCode : int {
  measured = 0,      ///< measured and verified
  failed = 1,        ///< measured, but verification or a bound failed
  bad_input = 2,     ///< an option or a file is wrong; nothing was measured
  device_error = 3,  ///< a device, driver or MPI call failed
  timed_out = 4,     ///< a deadline passed; what was measured is in the record
};

/// The user asked for something that cannot be: one sentence with the remedy.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device, driver or MPI call failed; the sentence names the call and the endpoint.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A deadline passed; the sentence says what was in flight.
class TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace linkmatrix
