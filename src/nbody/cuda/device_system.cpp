#include <algorithm>
#include <map>
#include <utility>

#include "device/cuda/cuda_backend.hpp"
#include "device/cuda/peer_access.hpp"
#include "nbody/cuda/device_simulation.hpp"
#include "nbody/local_system.hpp"

namespace linkmatrix {
namespace {

using cuda::check;

/// Copies the positions of each device into the memory of all other devices.
template <class T>
class PeerExchange final : public cuda::PositionExchange<T> {
 public:
  using Part = cuda::DevicePart<T>;

  void prepare(std::vector<Part>& parts, const Split& split) override { parts_ = &parts, split_ = split; }

  void send(Part& part, int buffer) override {
    part.use();
    check(cudaStreamWaitEvent(part.copies.get(), part.moved_to(buffer), 0), part.label, "cudaStreamWaitEvent");
    const std::uint64_t place = split_.place_of(part.number);
    for (std::size_t step = 1; step < parts_->size(); ++step) {  // in each step, no two devices send to the same device
      const Part& other = (*parts_)[(static_cast<std::size_t>(part.number) + step) % parts_->size()];
      check(cudaMemcpyPeerAsync(other.places(buffer) + place, other.ordinal, part.places(buffer) + place, part.ordinal,
                                split_.count(part.number) * sizeof(Vector4<T>), part.copies.get()),
            part.label, "cudaMemcpyPeerAsync");
    }
    check(cudaEventRecord(part.sent_from(buffer), part.copies.get()), part.label, "cudaEventRecord");
  }

  void await(Part& part, int buffer, cudaStream_t stream, Deadline) override {
    for (const Part& other : *parts_)
      if (other.number != part.number)
        check(cudaStreamWaitEvent(stream, other.sent_from(buffer), 0), part.label, "cudaStreamWaitEvent");
  }

 private:
  std::vector<Part>* parts_ = nullptr;
  Split split_;
};

/// Returns whether all devices can now access each other's memory; otherwise copies go through host memory.
bool turn_on_peer_access(const std::vector<int>& ordinals) {
  static cuda::PeerAccess access;
  std::map<cuda::PeerPair, bool> wanted;
  for (const int from : ordinals)
    for (const int to : ordinals)
      if (int can = 0; from != to && cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can != 0)
        wanted[{from, to}] = true;
  access.prepare(wanted);
  return std::ranges::all_of(ordinals, [&](int from) {
    return std::ranges::all_of(ordinals, [&](int to) { return from == to || access.is_on({from, to}); });
  });
}

}  // namespace

std::unique_ptr<NbodySystem> make_device_system(const NbodyOptions& options) {
  LocalParts parts;
  parts.machine = make_cuda_backend(options.devices);
  SimulatedDevices devices;
  for (const Endpoint& endpoint : parts.machine->endpoints()) {
    if (endpoint.kind != EndpointKind::device) continue;
    devices.ordinals.push_back(endpoint.index);
    devices.labels.push_back(endpoint.label);
  }
  const bool direct = turn_on_peer_access(devices.ordinals);
  parts.simulation =
      make_device_simulation(std::move(devices), {[] { return std::make_unique<PeerExchange<float>>(); },
                                                  [] { return std::make_unique<PeerExchange<double>>(); }});
  parts.memory = Memory::device;
  parts.timing = "events";
  parts.transport = [direct] { return direct ? "direct" : "staged"; };
  return make_local_system(std::move(parts));
}

}  // namespace linkmatrix
