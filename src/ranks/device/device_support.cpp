#include "ranks/device/device_support.hpp"

#include "device/cuda/discovery.hpp"
#include "ranks/device/device_backend.hpp"
#include "ranks/device/device_payload.hpp"

namespace linkmatrix::ranks {
namespace {

/// Peer access by the management library's word: the other ranks' devices may not be visible to this one's driver.
Topology discover(std::vector<Endpoint>& devices) {
  const cuda::Nvml nvml;
  for (Endpoint& device : devices) cuda::read_limits(nvml, device), cuda::identify(nvml, device);
  Topology topology = cuda::discover_links(nvml, devices);
  cuda::add_reach(topology, devices, [&](const Endpoint& from, const Endpoint& to) {
    return nvml.peer_access(from.pci, to.pci).value_or(true);
  });
  return topology;
}

}  // namespace

DeviceSupport device_support() {
  return {.make_payload = make_device_payload,
          .discover = discover,
          .make_backend = [](Correspondence& ranks, const Machine& machine, Transport sharing) {
            return std::make_unique<DeviceBackend>(ranks, machine, kind_of(sharing));
          }};
}

void expect_devices(int ranks) { cuda::ask_for_queues(ranks); }

}  // namespace linkmatrix::ranks
