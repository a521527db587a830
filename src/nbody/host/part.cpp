#include "nbody/host/part.hpp"

#include <string>

#include "core/units.hpp"
#include "device/host/available_memory.hpp"

namespace linkmatrix {

std::uint64_t host_bytes(const NbodyCase& wanted, int parts) {
  const Split split(wanted.bodies, wanted.devices);
  return static_cast<std::uint64_t>(parts) * 2 * (split.places() + split.stride()) * bytes_of_body(wanted.precision);
}

void refuse_too_many_bodies(const NbodyCase& wanted, int parts) {
  const std::uint64_t bytes = host_bytes(wanted, parts);
  if (bytes > available_memory())
    throw BadInput("--bodies: " + std::to_string(wanted.bodies) + " need " + std::to_string(bytes / MiB) +
                   " MiB of host memory, where " + std::to_string(available_memory() / MiB) +
                   " MiB are available: use fewer");
}

}  // namespace linkmatrix
