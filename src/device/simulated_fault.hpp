#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/backend.hpp"

namespace linkmatrix {

/// A fault that is not there, for drills: does the alarm go off, and does it name the right endpoint?
struct SimulatedFault {
  enum class Kind { error, corrupt, hang, slow, shared, counter, throttle };

  Kind kind = Kind::error;
  std::string endpoint;  ///< label; or "gpu1->gpu2": only what goes from the one to the other

  std::string text() const;  ///< "slow:gpu1"
};

/// "error, corrupt …" for --help.
std::string simulated_fault_kinds();

/// Of "KIND:ENDPOINT"; throws BadInput.
SimulatedFault parse_simulated_fault(std::string_view text);

/// The back end, with the fault in all copies that begin or end at the endpoint: error, the third run of such copies
/// throws DeviceError; hang, it waits for the deadline; corrupt, what arrives there is wrong; slow, at 80 % of the
/// rate; shared, the same while any other copy runs; counter, the endpoint counts errors during the run; throttle, it
/// says that it is held back. Throws BadInput if it has no endpoint of that label.
std::unique_ptr<Backend> with_simulated_fault(std::unique_ptr<Backend> backend, SimulatedFault fault);

}  // namespace linkmatrix
