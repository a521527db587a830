#pragma once

#include <memory>

#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// The memory of this rank's device: the `number`-th of the node, or the only one that it sees. The card gets what it
/// is. Throws BadInput.
std::unique_ptr<Payload> make_device_payload(Wire& wire, int number, Card& card);

}  // namespace linkmatrix::ranks
