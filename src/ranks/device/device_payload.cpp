#include "ranks/device/device_payload.hpp"

#include <unistd.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/device_use.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/own_context.hpp"
#include "device/cuda/shared_memory.hpp"
#include "device/device_activity.hpp"
#include "ranks/device/device_backend.hpp"
#include "ranks/device/device_copies.hpp"
#include "ranks/device/direct_transfers.hpp"
#include "ranks/device/staged.hpp"

namespace linkmatrix::ranks {
namespace {

DeviceActivity others_on(cuda::NvmlUse& use, const std::string& label, const OwnProcess& own) {
  return {use, {label}, {own}, static_cast<unsigned>(::getpid())};
}

OwnProcess make_context_on(const Endpoint& device, const cuda::Nvml& nvml, cuda::NvmlUse& use) {
  try {
    return cuda::make_own_context(device.index, device.label, use, 0);
  } catch (const cuda::CudaError& e) {
    if (e.status() != cudaErrorMemoryAllocation) throw;
    if (!others_on(use, device.label, {OwnProcess::Listed::absent, 0}).has_other_memory_holders(0)) throw;
    throw MemoryHeld(e.what() + ("; " + nvml.memory_holders(device.pci)), {device.label}, {});
  }
}

/// State of a rank's device, from NVML.
class NvmlWatch final : public DeviceWatch {
 public:
  /// Creates a context on the device. Throws CudaError if this process cannot use the device, MemoryHeld if other
  /// processes hold its memory.
  explicit NvmlWatch(const Endpoint& device)
      : health_{nvml_, {device}}, use_{nvml_, {device}}, own_{make_context_on(device, nvml_, use_)} {}

  DeviceState state() override { return health_.states().front(); }
  void poll(Activity& poll, const std::string& label) override { others_on(use_, label, own_).add(poll); }
  unsigned driver_pid() const override { return own_.pid; }

 private:
  cuda::Nvml nvml_;
  cuda::HealthReader health_;
  cuda::NvmlUse use_;
  OwnProcess own_;
};

using namespace cuda;

/// Description of a rank's host memory for another rank.
struct StagingOffer {
  std::array<char, 64> name{};
};

class DevicePayload final : public Payload {
 public:
  DevicePayload(Communicator& mpi, int ordinal)
      : mpi_{mpi}, transfers_{mpi}, endpoint_state_{describe_devices(std::array{ordinal}).front()} {
    make_context(endpoint_state_.endpoint.index, where());
    load_kernels();
    load_chain_kernels();
    endpoint_state_.lane(0);
    endpoint_state_.make_counters();
  }

  const Endpoint& endpoint() const { return endpoint_state_.endpoint; }

  DeviceWatch* device() override { return &watch_; }

  void forget() override {
    transfers_.forget();
    direct_.forget();
    others_.clear();
  }

  void share_by(Transport sharing) override {
    const HandleKind kind = kind_of(sharing);
    if (kind == kind_) return;
    kind_ = kind;
    capacity_ = 0;
  }

  void reserve(std::uint64_t bytes) override {
    endpoint_state_.use();
    const std::uint64_t wanted = std::max(bytes, least_shared_bytes) + DirectTransfers::extra_bytes;
    if (wanted <= capacity_) return;
    source_ = SharedMemory();  // free before the new allocation
    destination_ = SharedMemory();
    source_ = SharedMemory::make(wanted, kind_, endpoint_state_.endpoint.index, where());
    destination_ = SharedMemory::make(wanted, kind_, endpoint_state_.endpoint.index, where());
    for (const SharedMemory* memory : {&source_, &destination_})
      touch_on_device(memory->data(), wanted - DirectTransfers::extra_bytes, where());
    capacity_ = wanted;
    ++generation_;
  }

  void connect(const Exchange& x) override {
    if (x.transport == Transport::mpi || x.transport == Transport::automatic) return;
    endpoint_state_.use();
    if (x.transport != Transport::staged) return direct_.connect(x, destination_, generation_);
    make_staging_buffers();
    StagingOffer mine, theirs;
    put(mine.name, outgoing_.name());
    mpi_.send_bytes(&mine, sizeof(mine), x.other, x.tag);
    mpi_.receive_bytes(&theirs, sizeof(theirs), x.other, x.tag);
    mpi_.finish(x.deadline);
    StagingBuffer& other = others_[x.other];
    if (x.same_node && !other) other = StagingBuffer::open(text_of(theirs.name), where());
  }

  StepTimes transfer(const Exchange& x) override {
    endpoint_state_.use();
    const std::uint64_t at = x.order.offset;
    if (x.transport == Transport::staged) return stage(x);
    if (x.transport == Transport::mpi || x.transport == Transport::automatic)
      return transfers_.transfer(x, source() + at, destination() + at);
    return direct_.transfer(x, source() + at, destination_);
  }

  std::vector<std::byte> answer(std::span<const std::byte> question) override {
    if (!copies_) copies_.emplace(mpi_.rank(), mpi_.size(), endpoint_state_.endpoint);
    return pack(copies_->perform(unpack<DeviceOrder>(question)));
  }

  void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override {
    endpoint_state_.use();
    launch_fill(source() + offset, bytes, seed, stream());
    check(cudaStreamSynchronize(stream()), where(), "filling");
  }

  void poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t) override {
    endpoint_state_.use();
    check(cudaMemsetAsync(destination() + offset, poison_byte, bytes, stream()), where(), "cudaMemsetAsync");
    check(cudaStreamSynchronize(stream()), where(), "poisoning");
  }

  PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override {
    endpoint_state_.use();
    CheckCounters found{0, std::numeric_limits<unsigned long long>::max()};
    const auto copy = [&](void* there, const void* from) {
      check(cudaMemcpyAsync(there, from, sizeof found, cudaMemcpyDefault, stream()), where(), "cudaMemcpyAsync");
    };
    copy(endpoint_state_.check_counters(), &found);
    launch_check(destination() + offset, bytes, seed, endpoint_state_.check_counters(), stream());
    copy(&found, endpoint_state_.check_counters());
    check(cudaStreamSynchronize(stream()), where(), "verification");
    return {found.wrong_bytes, found.first_wrong};
  }

  void renew() override {
    given_up_.push_back(std::move(source_));
    given_up_.push_back(std::move(destination_));
    const std::uint64_t bytes = std::exchange(capacity_, 0);
    reserve(bytes - DirectTransfers::extra_bytes);
  }

 private:
  const std::string& where() const { return endpoint_state_.endpoint.label; }
  cudaStream_t stream() { return endpoint_state_.lane(0).stream.get(); }
  std::byte* source() { return source_.data(); }
  std::byte* destination() { return destination_.data(); }

  void make_staging_buffers() {
    if (outgoing_) return;
    outgoing_ = StagingBuffer::make(where());
    incoming_ = StagingBuffer::make(where());
    sending_.emplace(where());
    receiving_.emplace(where());
    copies_in_ = make_stream(where());
  }

  StepTimes stage(const Exchange& x) {
    StepTimes times;
    times.whole.start = steady_seconds();
    if (x.order.metric == Metric::latency) {
      for (int k = 0; k < x.step.repeats; ++k) {
        stage_some(x, x.first ? 1 : 0, x.first ? 0 : 1);
        stage_some(x, x.first ? 0 : 1, x.first ? 1 : 0);
      }
    } else {
      const auto all = static_cast<std::uint64_t>(x.step.repeats) * static_cast<std::uint64_t>(x.step.messages);
      const bool both = x.order.metric == Metric::bidirectional;
      stage_some(x, x.first || both ? all : 0, !x.first || both ? all : 0);
    }
    times.whole.end = steady_seconds();
    if (x.order.metric == Metric::bidirectional) times.sent = times.whole;
    return times;
  }

  void stage_some(const Exchange& x, std::uint64_t outgoing, std::uint64_t incoming) {
    const std::uint64_t bytes = std::max<std::uint64_t>(x.order.bytes, 1);
    const Stage out{mpi_, where(), stream(), x.other, x.tag, x.same_node, bytes, outgoing};
    const Stage in{mpi_, where(), copies_in_.get(), x.other, x.tag, x.same_node, bytes, incoming};
    StagedSender sender(out, outgoing_, source() + x.order.offset, *sending_);
    StagedReceiver receiver(in, x.same_node ? others_.at(x.other) : incoming_, destination() + x.order.offset,
                            *receiving_);
    for (std::uint64_t polls = 1; !sender.done() || !receiver.done(); ++polls) {
      sender.step();
      receiver.step();
      if (polls % polls_between_checks == 0) mpi_.check_wait(x.deadline);
    }
  }

  static constexpr int polls_between_checks = 256;

  Communicator& mpi_;
  MpiTransfers transfers_;
  EndpointState endpoint_state_;
  DirectTransfers direct_{mpi_, endpoint_state_};
  HandleKind kind_ = HandleKind::ipc;
  SharedMemory source_, destination_;
  std::uint64_t capacity_ = 0;
  int generation_ = 0;
  StagingBuffer outgoing_, incoming_;  ///< host buffers for sent data (shared inside the node) and received data
  std::map<int, StagingBuffer> others_;
  std::optional<Flight> sending_, receiving_;
  Stream copies_in_;
  std::vector<SharedMemory> given_up_;
  std::optional<DeviceCopies> copies_;  ///< created by the first question of rank 0
  NvmlWatch watch_{endpoint_state_.endpoint};
};

/// Returns peer access as reported by NVML, because devices of other ranks may be invisible to this process.
Topology discover(std::vector<Endpoint>& devices) {
  const cuda::Nvml nvml;
  for (Endpoint& device : devices) cuda::read_limits(nvml, device), cuda::identify(nvml, device);
  Topology topology = cuda::discover_links(nvml, devices);
  cuda::add_reach(topology, devices, [&](const Endpoint& from, const Endpoint& to) {
    return nvml.peer_access(from.pci, to.pci).value_or(true);
  });
  return topology;
}

/// Returns the CUDA ordinal of the device of the `number`-th rank of a node; a launcher may expose only one device per
/// rank. Throws BadInput without a device for the rank.
int ordinal_of(int number) {
  std::string reason;
  const int visible = visible_devices(reason);
  if (visible == 0) throw BadInput("--memory device: " + reason);
  const int ordinal = visible == 1 ? 0 : number;  // the launcher shows each rank only its own device
  if (ordinal >= visible)
    throw BadInput("--memory device: rank " + std::to_string(number) +
                   " of the node has no device; the number of devices is " + std::to_string(visible) +
                   ": start one rank per GPU");
  return ordinal;
}

/// Adds the facts of a rank's device.
void put_device(RankFacts& facts, int number, const Endpoint& device) {
  put(facts.device, "gpu" + std::to_string(number));
  put(facts.model, device.name);
  put(facts.uuid, device.uuid);
  put(facts.pci, device.pci);
  facts.numa = device.numa;
}

/// Adds the NVLinks of a rank's device, and its NVLink domain.
void put_nvlinks(RankFacts& facts, Endpoint device) {
  const cuda::Nvml nvml;
  put(facts.domain, nvml.domain(device.pci));
  const auto fabric = nvml.fabric(device.pci);
  if (const auto state = fabric.find("fabric_state"); state != fabric.end()) put(facts.fabric, state->second);
  if (const auto links = nvml.links(device.pci)) facts.nvlinks = links->active;
  cuda::read_limits(nvml, device);
  facts.nvlink_limit = device.link_limit.value_or(0);
}

/// Creates the device memory of this rank, the `number`-th of its node, and adds the device to its facts. Throws
/// BadInput if no device is available for the rank, DeviceError if the device does not work.
std::unique_ptr<Payload> make_device_payload(Communicator& mpi, int number, RankFacts& facts) {
  const int ordinal = ordinal_of(number);
  put(facts.device, "gpu" + std::to_string(number));  // also if the device does not work
  auto payload = std::make_unique<DevicePayload>(mpi, ordinal);
  put_device(facts, number, payload->endpoint());
  put_nvlinks(facts, payload->endpoint());
  facts.has_descriptors = !why_no_handles(HandleKind::fd, ordinal);
  put(facts.no_fabric, why_no_handles(HandleKind::fabric, ordinal).value_or(""));
  return payload;
}

}  // namespace

HandleKind kind_of(Transport sharing) {
  if (sharing == Transport::fd) return HandleKind::fd;
  return sharing == Transport::fabric ? HandleKind::fabric : HandleKind::ipc;
}

DeviceSupport device_support() {
  return {.make_payload = make_device_payload,
          .discover = discover,
          .make_backend = [](Correspondence& ranks, const Machine& machine, Transport sharing) {
            return std::make_unique<DeviceBackend>(ranks, machine, kind_of(sharing));
          }};
}

DeviceSupport answering_devices(MakeDeviceAnswerer make) {
  const auto make_payload = [make = std::move(make)](Communicator& mpi, int number, RankFacts& facts) {
    const int ordinal = ordinal_of(number);
    const Endpoint device = cuda::describe_devices(std::array{ordinal}).front();
    put_device(facts, number, device);
    auto answerer = make(mpi, ordinal, "gpu" + std::to_string(number));
    return std::make_unique<HostPayload>(mpi, false, std::move(answerer), std::make_unique<NvmlWatch>(device));
  };
  return {.make_payload = make_payload, .discover = discover, .make_backend = {}};
}

void expect_devices(int ranks) { cuda::request_queues(ranks); }

}  // namespace linkmatrix::ranks
