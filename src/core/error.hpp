#pragma once

#include <stdexcept>
#include <string>

namespace linkmatrix {

/// Exit codes of every native program.
enum class ExitCode : int {
  measured = 0,      ///< measured and verified
  failed = 1,        ///< measured, but the verification failed
  bad_input = 2,     ///< an option or a file is invalid; nothing was measured
  device_error = 3,  ///< a device, driver or MPI call failed
  timed_out = 4,     ///< a deadline passed; the record contains the results measured before
};

/// An invalid request of the user. The text is one sentence with the remedy.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device, driver or MPI call failed. The text names the call and the endpoint.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A deadline passed. The text names the pending work.
class TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace linkmatrix
