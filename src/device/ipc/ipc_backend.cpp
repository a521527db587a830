#include "device/ipc/ipc_backend.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "core/units.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/copy_work.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/health.hpp"
#include "device/host/host_facts.hpp"
#include "device/mpi/communicator.hpp"

namespace linkmatrix {
namespace {

using namespace cuda;

constexpr double startup_seconds = 120;          // until every rank has its context
constexpr std::uint64_t least_buffer = 2 * MiB;  // smaller ones share a piece of memory, and so would their handles
constexpr int gate_attempts = 3;
constexpr int background = 8;  // repeats of a background copy for each of a measured one

enum class Role { source, destination };

/// A buffer of one endpoint.
struct Place {
  int endpoint;
  Role role;
  int slot;
  auto operator<=>(const Place&) const = default;
};

/// What a rank tells of its device: plain data, to be sent.
struct Card {
  char label[32], name[256], uuid[64], pci[32], node[256];
  int ordinal, numa;
};

template <std::size_t size>
void put(char (&field)[size], const std::string& text) {
  std::strncpy(field, text.c_str(), size - 1);
}

class IpcBackend final : public Backend {
 public:
  explicit IpcBackend(std::span<const int> wanted) {
    const std::vector<std::string> nodes = ranks_.gather_texts(host_facts().name, "the names of all nodes", starting());
    if (std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) { return node != nodes.front(); }))
      throw BadInput("--backend ipc measures inside one node: start all ranks on one");
    std::string refused;
    const int ordinal = choose_device(wanted, refused);
    agree(refused, starting());
    bring_up(ordinal);
    std::vector<Endpoint> devices = introduce();
    for (const Endpoint& device : devices) stations_.emplace_back(device);
    own() = std::move(*mine_);
    endpoints_ = devices;
    topology_ = discover_topology(nvml_, devices, [this](const Endpoint& a, const Endpoint& b) {
      return nvml_.peer_access(a.pci, b.pci).value_or(true);
    });
    software_ = describe_software(nvml_);
    software_["MPI"] = mpi_library();
    health_.emplace(nvml_, devices);
    gate_.emplace(own().where());
  }

  ~IpcBackend() override {
    for (Station& station : stations_)
      if (&station != &own()) station.source.clear(), station.destination.clear();  // before their owners free them
    try {
      ranks_.barrier(Deadline::in(5));
    } catch (const std::exception&) {  // the others are gone already
    }
  }
  IpcBackend(const IpcBackend&) = delete;
  IpcBackend& operator=(const IpcBackend&) = delete;

  std::string name() const override { return "ipc"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  bool is_root() const override { return me() == 0; }
  bool any(bool here) override { return ranks_.any(here); }
  std::vector<DeviceState> device_states() override { return health_->states(); }
  std::vector<std::string> throttle_reasons() override { return health_->throttle_reasons(); }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine == Engine::mpi) return "the back end ipc moves data by CUDA IPC: --backend mpi sends messages";
    if (!copy.peer_access) return "memory of another process needs peer access: --backend cuda stages through the host";
    return std::nullopt;
  }

  std::vector<int> resources(const Copy& copy) const override {
    if (copy.source == copy.destination) return {copy.source};
    return {copy.source, copy.destination};
  }

  void prepare(std::span<const Copy> copies, Deadline deadline) override {
    const std::map<Place, std::uint64_t> growing = what_grows(copies);
    for (const auto& [place, bytes] : growing)
      if (place.endpoint != me()) buffer(place).forget();
    ranks_.barrier(deadline);  // nobody holds what is freed now
    const std::string refused = reserve(growing);
    agree(refused, deadline);
    exchange(growing, deadline);
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    for (int attempt = 0; attempt < gate_attempts; ++attempt) {
      const std::vector<CopyTime> times = run_gated(copies, repeats, deadline);
      if (!ranks_.any(gate_->timed_out())) return times;
    }
    throw DeviceError("the gate of " + work_.pair_text(copies.front()) + " timed out " + std::to_string(gate_attempts) +
                      " times: is the machine overloaded?");
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      if (copies[k].source == me()) work_.fill(copies[k], seed + k);
      if (copies[k].destination == me()) work_.spoil(copies[k]);
    }
    ranks_.barrier(deadline);
    std::vector<Copy> once = own_copies(copies);
    for (Copy& copy : once) copy.operation = Operation::copy;  // a chain is verified by a copy over the same path
    work_.for_each_lane(once, [&](std::size_t k, Station& station, Lane& lane) {
      work_.enqueue(once[k], station, lane, 1, 1, *gate_);
      check(cudaEventRecord(lane.stop.get(), lane.stream.get()), station.where(), "cudaEventRecord");
    });
    work_.wait(once, deadline);
    ranks_.barrier(deadline);
    std::vector<unsigned long long> found(2 * copies.size(), 0);
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].destination == me()) {
        const PatternCheck answer = work_.compare(copies[k], seed + k);
        found[2 * k] = answer.wrong_bytes;
        found[2 * k + 1] = answer.wrong_bytes > 0 ? answer.first_wrong : 0;
      }
    ranks_.reduce(found, MPI_UNSIGNED_LONG_LONG, MPI_SUM, "the comparison of what arrived", deadline);
    std::vector<PatternCheck> checks;
    for (std::size_t k = 0; k < copies.size(); ++k) checks.push_back({found[2 * k], found[2 * k + 1]});
    return checks;
  }

 private:
  int me() const { return ranks_.rank(); }
  Station& own() { return stations_[static_cast<std::size_t>(me())]; }
  static Deadline starting() { return Deadline::in(startup_seconds); }

  /// Throws BadInput on every rank if one refuses; a rank that ends alone would leave the others waiting.
  void agree(const std::string& refused, Deadline deadline) {
    std::vector<int> failed{refused.empty() ? 0 : 1};
    ranks_.reduce(failed, MPI_INT, MPI_LOR, "all ranks' consent", deadline);
    if (!refused.empty()) throw BadInput(refused);
    if (failed.front() != 0) throw BadInput("another rank cannot go on and says why");
  }

  /// The ordinal of this rank's device; `refused` says why there is none. A launcher may show each rank only its own.
  int choose_device(std::span<const int> wanted, std::string& refused) {
    const int visible = visible_devices(refused);
    if (visible == 0) return 0;
    if (!wanted.empty() && static_cast<int>(wanted.size()) != ranks_.size()) {
      refused = "--devices names " + std::to_string(wanted.size()) + " devices for " + std::to_string(ranks_.size()) +
                " ranks: name one for each";
      return 0;
    }
    const int ordinal = !wanted.empty() ? wanted[static_cast<std::size_t>(me())] : visible == 1 ? 0 : me();
    if (ordinal >= visible)
      refused = "rank" + std::to_string(me()) + " has no device " + std::to_string(ordinal) + ", it sees " +
                std::to_string(visible) + ": start one rank for each GPU";
    return ordinal;
  }

  void bring_up(int ordinal) {
    mine_.emplace(describe_devices(std::vector{ordinal}).front());
    mine_->use();
    check(cudaFree(nullptr), mine_->where(), "context");
    load_kernels();
    load_chain_kernels();
    mine_->lane(0);
    mine_->make_counters();
  }

  /// All ranks' devices, by rank; each GPU once.
  std::vector<Endpoint> introduce() {
    const Endpoint& device = mine_->endpoint;
    Card card{};
    put(card.label, "gpu" + std::to_string(me()));
    put(card.name, device.name);
    put(card.uuid, device.uuid);
    put(card.pci, device.pci);
    put(card.node, device.node);
    card.ordinal = device.index;
    card.numa = device.numa;
    std::vector<Endpoint> devices;
    for (const Card& other : ranks_.gather(std::vector{card}, "the devices of all ranks", starting())) {
      Endpoint endpoint{.kind = EndpointKind::device,
                        .index = other.ordinal,
                        .label = other.label,
                        .name = other.name,
                        .uuid = other.uuid,
                        .pci = other.pci,
                        .node = other.node,
                        .numa = other.numa,
                        .nics = {},
                        .link_limit = {},
                        .host_limit = {}};
      read_limits(nvml_, endpoint);
      for (const Endpoint& before : devices)
        if (before.uuid == endpoint.uuid)
          throw BadInput("two ranks have the same GPU, " + endpoint.uuid + ": start one rank for each GPU");
      devices.push_back(std::move(endpoint));
    }
    mine_->endpoint.label = card.label;
    return devices;
  }

  Buffer& buffer(const Place& place) {
    Station& station = stations_[static_cast<std::size_t>(place.endpoint)];
    return (place.role == Role::source ? station.source : station.destination)[place.slot];
  }

  /// The buffers that are too small for the copies, the same on every rank, with what they must hold.
  std::map<Place, std::uint64_t> what_grows(std::span<const Copy> copies) {
    std::map<Place, std::uint64_t> growing;
    for (const Copy& copy : copies)
      for (const Place& place : {Place{copy.source, Role::source, copy.source_slot},
                                 Place{copy.destination, Role::destination, copy.destination_slot}}) {
        const std::uint64_t bytes = std::max(copy.end(), least_buffer);
        if (bytes > sizes_[place]) growing[place] = std::max(growing[place], bytes);
      }
    for (const auto& [place, bytes] : growing) sizes_[place] = bytes;
    return growing;
  }

  /// Makes this rank's own; returns why it cannot, or nothing.
  std::string reserve(const std::map<Place, std::uint64_t>& growing) {
    try {
      own().use();
      for (const auto& [place, bytes] : growing)
        if (place.endpoint == me()) buffer(place).reserve(own().endpoint, bytes, {});
    } catch (const BadInput& e) {
      return e.what();
    }
    return "";
  }

  /// Opens the others' new buffers.
  void exchange(const std::map<Place, std::uint64_t>& growing, Deadline deadline) {
    for (const auto& [place, bytes] : growing) {
      std::vector<cudaIpcMemHandle_t> handle(1);
      if (place.endpoint == me())
        check(cudaIpcGetMemHandle(&handle.front(), buffer(place).data()), own().where(), "cudaIpcGetMemHandle");
      const auto all = ranks_.gather(handle, "the memory handles of all ranks", deadline);
      if (place.endpoint != me()) buffer(place).import(all[static_cast<std::size_t>(place.endpoint)], own().where());
    }
  }

  /// Those that this rank's device makes.
  std::vector<Copy> own_copies(std::span<const Copy> copies) {
    std::vector<Copy> mine;
    std::copy_if(copies.begin(), copies.end(), std::back_inserter(mine),
                 [this](const Copy& copy) { return copy.initiator() == me(); });
    return mine;
  }

  std::vector<CopyTime> run_gated(std::span<const Copy> copies, int repeats, Deadline deadline) {
    const std::vector<Copy> mine = own_copies(copies);
    const bool flags = copies.front().operation == Operation::flag;
    for (const Copy& copy : mine)
      if (copy.operation == Operation::chase) work_.build_ring(copy);  // each rank has addresses of its own
    for (const Copy& copy : copies) {
      if (flags && copy.source == me()) work_.reset_source_flag(copy);
      if (flags && copy.destination == me()) work_.reset_destination_flag(copy);
    }
    ranks_.barrier(deadline);
    std::vector<double> enqueue(mine.size(), 0);
    {
      gate_->close();
      const Gate::Opener opener(*gate_);
      work_.for_each_lane(mine, [&](std::size_t k, Station& on, Lane& lane) {
        gate_->hold(lane.stream.get());
        check(cudaEventRecord(lane.start.get(), lane.stream.get()), on.where(), "cudaEventRecord");
        const auto begin = Clock::now();
        work_.enqueue(mine[k], on, lane, repeats, background, *gate_);
        if (!mine[k].is_chain()) enqueue[k] = seconds_since(begin) / repeats;
        check(cudaEventRecord(lane.stop.get(), lane.stream.get()), on.where(), "cudaEventRecord");
      });
      for (const Copy& copy : copies)
        if (flags && copy.destination == me()) work_.enqueue_answer(copy, repeats, *gate_);
      ranks_.barrier(deadline);  // all have enqueued: the gates open together
    }
    work_.wait(mine, deadline);
    return share(copies, mine, enqueue, repeats, deadline);
  }

  /// Each copy's time, from the rank that made it, to all.
  std::vector<CopyTime> share(std::span<const Copy> copies, const std::vector<Copy>& mine,
                              const std::vector<double>& enqueue, int repeats, Deadline deadline) {
    std::vector<double> seconds(2 * copies.size(), 0);
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].initiator() == me()) places.push_back(k);
    work_.for_each_lane(mine, [&](std::size_t k, Station& on, Lane& lane) {
      seconds[2 * places[k]] = work_.time(mine[k], on, lane, repeats, background).seconds;
      seconds[2 * places[k] + 1] = enqueue[k];
    });
    ranks_.reduce(seconds, MPI_DOUBLE, MPI_MAX, "the times of all ranks", deadline);
    std::vector<CopyTime> times;
    for (std::size_t k = 0; k < copies.size(); ++k) times.push_back({seconds[2 * k], seconds[2 * k + 1], 0});
    return times;
  }

  Communicator ranks_;
  Nvml nvml_;
  std::optional<Station> mine_;    ///< until it takes its place among the stations
  std::vector<Station> stations_;  ///< one for each rank; of the others' only the opened buffers are used
  std::map<Place, std::uint64_t> sizes_;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  std::optional<HealthReader> health_;
  std::optional<Gate> gate_;
  CopyWork work_{stations_, {}};
};

}  // namespace

std::unique_ptr<Backend> make_ipc_backend(std::span<const int> devices) {
  return std::make_unique<IpcBackend>(devices);
}

}  // namespace linkmatrix
