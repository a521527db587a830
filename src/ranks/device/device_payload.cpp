#include "ranks/device/device_payload.hpp"

#include <cstring>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/health.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/stations.hpp"
#include "ranks/device/staged.hpp"

namespace linkmatrix::ranks {
namespace {

using namespace cuda;

constexpr std::uint64_t least_buffer = 2 * MiB;  // smaller ones share a piece of memory, and so would their handles

/// What a rank tells another one of its memory.
struct Invitation {
  cudaIpcMemHandle_t destination{};
  int generation = 0;  ///< of its buffers
  std::array<char, 64> ring{};
};

/// Another rank's memory, opened here.
struct Opened {
  int generation = 0;
  Import destination;
  Ring ring;
};

class DevicePayload final : public Payload {
 public:
  DevicePayload(Wire& wire, int ordinal)
      : wire_{wire}, messages_{wire}, station_{describe_devices(std::array{ordinal}).front()} {
    station_.use();
    check(cudaFree(nullptr), where(), "context");
    load_kernels();
    station_.lane(0);
    station_.make_counters();
  }

  const Endpoint& endpoint() const { return station_.endpoint; }

  DeviceState state() override { return health_.states().front(); }

  void forget() override {
    messages_.forget();
    opened_.clear();
  }

  void reserve(std::uint64_t bytes) override {
    station_.use();
    const std::uint64_t wanted = std::max(bytes, least_buffer);
    if (wanted <= capacity_) return;
    station_.source[0].reserve(station_.endpoint, wanted, {});
    station_.destination[0].reserve(station_.endpoint, wanted, {});
    capacity_ = wanted;
    ++generation_;
  }

  void meet(const Exchange& x) override {
    if (x.transport == Transport::mpi || x.transport == Transport::automatic) return;
    station_.use();
    Invitation mine, theirs;
    mine.generation = generation_;
    if (x.transport == Transport::ipc)
      check(cudaIpcGetMemHandle(&mine.destination, destination()), where(), "cudaIpcGetMemHandle");
    if (x.transport == Transport::staged) make_rings();
    if (ring_) put(mine.ring, ring_.name());
    wire_.send_bytes(&mine, sizeof(mine), x.other, x.tag);
    wire_.receive_bytes(&theirs, sizeof(theirs), x.other, x.tag);
    wire_.finish(x.deadline);
    Opened& opened = opened_[x.other];
    if (x.transport == Transport::ipc && (opened.generation != theirs.generation || !opened.destination)) {
      opened.destination = Import();
      void* memory = nullptr;
      check(cudaIpcOpenMemHandle(&memory, theirs.destination, cudaIpcMemLazyEnablePeerAccess), where(),
            "cudaIpcOpenMemHandle (without peer access: --transport staged)");
      opened.destination = Import(static_cast<std::byte*>(memory));
      opened.generation = theirs.generation;
    }
    if (x.transport == Transport::staged && x.same_node && !opened.ring)
      opened.ring = Ring::open(text_of(theirs.ring), where());
  }

  Taken move(const Exchange& x) override {
    station_.use();
    switch (x.transport) {
      case Transport::ipc:
        return write_to_peer(x);
      case Transport::staged:
        return stage(x);
      case Transport::automatic:
      case Transport::mpi:
        break;
    }
    return messages_.move(x, source() + x.order.offset, destination() + x.order.offset);
  }

  void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override {
    station_.use();
    launch_fill(source() + offset, bytes, seed, stream());
    check(cudaStreamSynchronize(stream()), where(), "filling");
  }

  void spoil(std::uint64_t bytes, std::uint64_t offset) override {
    station_.use();
    check(cudaMemsetAsync(destination() + offset, spoiled_byte, bytes, stream()), where(), "cudaMemsetAsync");
    check(cudaStreamSynchronize(stream()), where(), "spoiling");
  }

  PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override {
    station_.use();
    CheckCounters found{0, std::numeric_limits<unsigned long long>::max()};
    const auto copy = [&](void* there, const void* from) {
      check(cudaMemcpyAsync(there, from, sizeof found, cudaMemcpyDefault, stream()), where(), "cudaMemcpyAsync");
    };
    copy(station_.check_counters(), &found);
    launch_check(destination() + offset, bytes, seed, station_.check_counters(), stream());
    copy(&found, station_.check_counters());
    check(cudaStreamSynchronize(stream()), where(), "verification");
    return {found.wrong_bytes, found.first_wrong};
  }

  void renew() override {
    given_up_.push_back(std::move(station_.source[0]));
    given_up_.push_back(std::move(station_.destination[0]));
    station_.source.clear();
    station_.destination.clear();
    const std::uint64_t bytes = std::exchange(capacity_, 0);
    reserve(bytes);
  }

 private:
  const std::string& where() const { return station_.endpoint.label; }
  cudaStream_t stream() { return station_.lane(0).stream.get(); }
  std::byte* source() { return station_.source.at(0).data(); }
  std::byte* destination() { return station_.destination.at(0).data(); }

  void make_rings() {
    if (ring_) return;
    ring_ = Ring::make(where());
    incoming_ = Ring::make(where());
    sending_.emplace(where());
    receiving_.emplace(where());
    copies_in_ = make_stream(where());
  }

  void wait(const Event& event, Deadline deadline) {
    for (int looks = 1;; ++looks) {
      const cudaError_t status = cudaEventQuery(event.get());
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) check(status, where(), "cudaEventQuery");
      if (looks % looks_between == 0) wire_.look(deadline);
    }
  }

  void agree(const Exchange& x) {
    char mine = 0, theirs = 0;
    wire_.send_bytes(&mine, 1, x.other, x.tag);
    wire_.receive_bytes(&theirs, 1, x.other, x.tag);
    wire_.finish(x.deadline);
  }

  /// The source's copy engine writes the destination's memory; a destination has nothing to do, but that what is
  /// verified must not be written before it is spoiled, nor compared before it is written.
  Taken write_to_peer(const Exchange& x) {
    Taken taken;
    const bool verify = x.step.kind == Step::Kind::verify;
    if (verify) agree(x);
    if (x.first || x.order.metric != Metric::bandwidth) taken.seconds = taken.sent = time_writes(x);
    if (x.order.metric == Metric::latency && !x.first) taken.seconds = 0;  // its own way is another cell
    if (verify) agree(x);
    return taken;
  }

  double time_writes(const Exchange& x) {
    cuda::Lane& lane = station_.lane(0);
    std::byte* const there = opened_.at(x.other).destination.get() + x.order.offset;
    const std::uint64_t bytes = std::max<std::uint64_t>(x.order.bytes, 1);
    check(cudaEventRecord(lane.start.get(), stream()), where(), "cudaEventRecord");
    for (int k = 0; k < x.step.repeats * x.step.messages; ++k)
      check(cudaMemcpyAsync(there, source() + x.order.offset, bytes, cudaMemcpyDefault, stream()), where(),
            "cudaMemcpyAsync");
    check(cudaEventRecord(lane.stop.get(), stream()), where(), "cudaEventRecord");
    wait(lane.stop, x.deadline);
    return lane.seconds(where());
  }

  Taken stage(const Exchange& x) {
    Taken taken;
    const bool latency = x.order.metric == Metric::latency;
    const auto start = Clock::now();
    if (!latency) {
      const auto all = static_cast<std::uint64_t>(x.step.repeats) * static_cast<std::uint64_t>(x.step.messages);
      const bool both = x.order.metric == Metric::bidirectional;
      stage_some(x, x.first || both ? all : 0, !x.first || both ? all : 0);
      taken.seconds = taken.sent = seconds_since(start);
      return taken;
    }
    for (int k = 0; k < x.step.repeats; ++k) {
      stage_some(x, x.first ? 1 : 0, x.first ? 0 : 1);
      stage_some(x, x.first ? 0 : 1, x.first ? 1 : 0);
    }
    taken.seconds = seconds_since(start) / 2;
    return taken;
  }

  void stage_some(const Exchange& x, std::uint64_t outgoing, std::uint64_t incoming) {
    const std::uint64_t bytes = std::max<std::uint64_t>(x.order.bytes, 1);
    const Stage out{wire_, where(), stream(), x.other, x.tag, x.same_node, bytes, outgoing};
    const Stage in{wire_, where(), copies_in_.get(), x.other, x.tag, x.same_node, bytes, incoming};
    StagedSender sender(out, ring_, source() + x.order.offset, *sending_);
    StagedReceiver receiver(in, x.same_node ? opened_.at(x.other).ring : incoming_, destination() + x.order.offset,
                            *receiving_);
    for (int looks = 1; !sender.done() || !receiver.done(); ++looks) {
      sender.step();
      receiver.step();
      if (looks % looks_between == 0) wire_.look(x.deadline);
    }
  }

  static constexpr int looks_between = 256;

  Wire& wire_;
  Messages messages_;
  Station station_;
  std::uint64_t capacity_ = 0;
  int generation_ = 0;
  Ring ring_, incoming_;  ///< of what goes out, shared inside the node; of what comes from another node
  std::optional<Flight> sending_, receiving_;
  Stream copies_in_;
  std::map<int, Opened> opened_;
  std::vector<Buffer> given_up_;
  Nvml nvml_;
  HealthReader health_{nvml_, {station_.endpoint}};
};

}  // namespace

std::unique_ptr<Payload> make_device_payload(Wire& wire, int number, Card& card) {
  std::string reason;
  const int visible = visible_devices(reason);
  if (visible == 0) throw BadInput("--memory device: " + reason);
  const int ordinal = visible == 1 ? 0 : number;  // a launcher may show each rank only its own
  if (ordinal >= visible)
    throw BadInput("--memory device: rank " + std::to_string(number) + " of the node has no device, there are " +
                   std::to_string(visible) + ": start one rank for each GPU");
  auto payload = std::make_unique<DevicePayload>(wire, ordinal);
  const Endpoint& device = payload->endpoint();
  put(card.device, "gpu" + std::to_string(visible == 1 ? number : device.index));
  put(card.model, device.name);
  put(card.uuid, device.uuid);
  put(card.pci, device.pci);
  card.numa = device.numa;
  return payload;
}

}  // namespace linkmatrix::ranks
