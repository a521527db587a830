#include "ranks/network.hpp"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "core/units.hpp"
#include "device/host/host_facts.hpp"
#include "measure/matching_schedule.hpp"
#include "ranks/communicator.hpp"
#include "ranks/coordinator.hpp"
#include "ranks/facts.hpp"
#include "ranks/groups.hpp"
#include "ranks/heartbeat.hpp"
#include "ranks/introduction.hpp"
#include "ranks/mpi_ranks.hpp"
#include "ranks/network_cells.hpp"
#include "ranks/node_traffic.hpp"
#include "ranks/rank_table.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr int polls_before_sleep = 2000;
constexpr auto nap = std::chrono::microseconds(50);     // between polls of an idle rank, because ranks may share cores
constexpr auto last_seconds = std::chrono::seconds(5);  // for rank 0 to end this rank
constexpr auto to_be_read = std::chrono::seconds(2);    // for srun to read output before an abort
constexpr double least_patience = 60;                   // minimum time limit in seconds for steps of all ranks
constexpr std::uint64_t least_buffer = 64;
constexpr double refreshed_within = 1.5;  // seconds: some adapters write their counters once a second
constexpr auto poll_interval_of_counters = std::chrono::milliseconds(100);

class MpiNetwork final : public Network {
 public:
  explicit MpiNetwork(const NetworkOptions& options) : options_{options} {
    watch_rank_0();
    Introduction mine = introduce(mpi_, options_);
    payload_ = std::move(mine.payload);
    worker_.emplace(mpi_, *payload_, mine.ranks, std::move(mine.gpus));
    const std::vector<RankFacts> facts = gather(mpi_, mine.facts);
    if (!is_root()) return;
    table_ = RankTable(facts, options_);
    ranks_.emplace(mpi_, *worker_, table_.labels(false), table_.nodes_of_ranks(), table_.no_device());
    traffic_ = NodeTraffic(table_.nodes_of_ranks());
    driver_pids_ = DriverPids(facts);
    if (!table_.refusal().empty()) {
      ranks_->dismiss();
      throw BadInput(table_.refusal());
    }
    if (options_.memory == Memory::device) find_devices();
    topology_ = table_.topology(most_in_record);
    software_ = {{"MPI", mpi_library()},
                 {"MPI network", text_of(mine.facts.network)},
                 {"CUDA-aware MPI", table_.cuda_aware() ? "yes" : "no"},
                 {"compiler", compiler_version()},
                 {"kernel", kernel_release()}};
    software_.merge(transport_versions());
  }

  std::string name() const override { return "mpi"; }
  const std::vector<Endpoint>& endpoints() const override { return table_.endpoints(); }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  bool is_root() const override { return mpi_.rank() == 0; }

  std::vector<DeviceState> device_states() override {
    if (!ranks_ || options_.memory == Memory::host) return {};
    return ranks_->device_states();
  }

  std::vector<NodeFacts> nodes() override { return ranks_ ? ranks_->node_facts() : std::vector<NodeFacts>(); }

  /// Polls all ranks. Between nodes, waits for adapters that refresh their counters late, unless waiting did not help
  /// before.
  Activity activity() override {
    if (!ranks_) return {};
    const Deadline end = Deadline::in(counters_late_ ? 0 : refreshed_within);
    while (!table_.is_one_node() && !traffic_.take(ranks_->traffic())) {
      if ((counters_late_ = end.passed())) break;
      std::this_thread::sleep_for(poll_interval_of_counters);
    }
    Activity poll = ranks_->polls();
    driver_pids_.remove_ranks(poll);
    poll.seconds = steady_seconds();
    if (!table_.is_one_node()) traffic_.add(poll);
    return poll;
  }

  void serve() override {
    for (;;) {
      const Order order = next_order();
      if (order.task == Task::end) {
        heartbeat_.stop();
        if (order.pairs == 0) leave();
        mpi_.set_exit_code(ExitCode::measured);
        return;
      }
      const Report report = worker_->perform(order);
      const std::vector<Sample>& samples = worker_->samples();
      mpi_.send_bytes(&report, sizeof(report), 0, report_tag);
      if (!samples.empty())
        mpi_.send_bytes(samples.data(), samples.size() * sizeof(Sample), 0, tag_of(order.serial, MessageKind::samples));
      if (report.reply_bytes > 0)
        mpi_.send_bytes(worker_->reply().data(), worker_->reply().size(), 0, tag_of(order.serial, MessageKind::reply));
      try {
        mpi_.finish(Deadline::in(std::max(order.time_limit, least_reporting)));
      } catch (const std::exception&) {
        leave();  // all other ranks have ended
      }
    }
  }

  std::vector<std::string> labels(bool by_node) const override { return table_.labels(by_node); }
  std::string link_class(bool by_node, std::size_t row, std::size_t column) const override {
    return table_.link_class(by_node, row, column);
  }
  std::string transport(bool by_node, std::size_t row, std::size_t column) const override {
    return table_.transport(by_node, row, column);
  }
  Memory memory() const override { return options_.memory; }
  Correspondence& correspondence() override { return *ranks_; }
  std::vector<Lost> take_lost() override { return ranks_->take_lost(); }
  Backend* devices() override { return devices_.get(); }
  Transport sharing() const override { return table_.copies_sharing(); }

  std::optional<std::string> why_no_window() override {
    if (!window_asked_) {
      window_asked_ = true;
      try {
        ranks_->open_window(patience());
      } catch (const BadInput& refusal) {
        why_no_window_ = refusal.what();
      }
    }
    return why_no_window_;
  }

  bool is_affected_by(const NetworkCase& matrix_case, Concurrency concurrency, const SimulatedFault& fault) override {
    const bool is_of_one_path = fault.endpoint.find("->") != std::string::npos;
    if (concurrency == Concurrency::matchings && is_of_one_path) return false;  // matchings measure few paths
    if (fault.write_fault() != WriteFault::none) return false;                  // messages contain no visibility tests
    const RankRounds rounds = rounds_of(matrix_case, concurrency);
    const Coordinator coordinator(*ranks_, table_, rounds, form_of(matrix_case, {}));
    for (std::size_t r = 0; r < rounds.count(); ++r)
      for (const CellIndex& cell : rounds.at(r))
        for (const Path& path : coordinator.paths(cell))
          if (fault.affects(path)) return true;
    return false;
  }

  void measure(const NetworkCase& matrix_case, const MeasureOptions& how, Deadline deadline, Guarded<Record>& record,
               const std::optional<SimulatedFault>& fault) override {
    const bool bisection = how.concurrency == Concurrency::bisection;
    const RankRounds rounds = rounds_of(matrix_case, how.concurrency);
    make_buffers(matrix_case);
    Coordinator coordinator(*ranks_, table_, rounds, form_of(matrix_case, how));
    std::optional<FaultySampler> faulty;
    if (fault) faulty.emplace(coordinator, *fault);
    Sampler& sampler = faulty ? static_cast<Sampler&>(*faulty) : coordinator;
    MeasureOptions options = how;
    options.cell_timeout = options_.pair_timeout;
    const Work work{rounds, bisection || how.concurrency == Concurrency::rounds};
    const bool few = how.concurrency == Concurrency::matchings;
    const EndpointGroups groups = few ? endpoint_groups(matrix_case, rounds) : EndpointGroups{};
    const NetworkCells cells(table_, options_.record, matrix_case);
    const std::unique_ptr<Store> store = cells.make_store(rounds, few, record);
    try {
      if (few)
        measure_matchings(sampler, groups, options, deadline, *store);
      else
        linkmatrix::measure(sampler, work, options, deadline, *store);
    } catch (...) {
      cells.finish(*store);
      throw;
    }
    cells.finish(*store);
  }

  std::optional<std::string> abnormal_end() override { return ranks_ ? ranks_->abnormal_end() : std::nullopt; }

  void dismiss(ExitCode code) override {
    mpi_.set_exit_code(code);
    if (!ranks_ || ranks_->dismiss()) return;
    std::cout << std::flush;
    // mpirun returns the exit code and ends the remaining processes. After MPI_Abort, mpirun returns 0 if ranks may
    // fail. A Slurm step would wait for a rank that hangs.
    if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {
      std::this_thread::sleep_for(to_be_read);
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    }
    std::_Exit(static_cast<int>(code));
  }

 private:
  /// Sets the links between devices, if all ranks are on this node.
  void find_devices() {
    const auto& [make_payload, discover, make_backend] = options_.devices;
    if (make_backend) devices_ = make_backend(*ranks_, *this, table_.copies_sharing());
    if (!discover || !table_.is_one_node()) return;
    std::vector<Endpoint> endpoints = table_.endpoints();
    Topology links = discover(endpoints);
    table_.set_links(std::move(endpoints), std::move(links));
  }

  RankRounds rounds_of(const NetworkCase& matrix_case, Concurrency concurrency) const {
    if (concurrency == Concurrency::matchings) require_enough_endpoints(matrix_case);
    return table_.rounds(matrix_case.by_node, matrix_case.metric == Metric::bidirectional,
                         concurrency == Concurrency::bisection);
  }

  /// Throws BadInput if the file of groups does not fit the nodes.
  EndpointGroups endpoint_groups(const NetworkCase& matrix_case, const RankRounds& rounds) const {
    EndpointGroups groups = rounds.endpoint_groups();
    if (!options_.groups.empty())
      groups.group =
          groups_of(matrix_case.by_node ? table_.labels(true) : table_.nodes_of_ranks(), read_groups(options_.groups));
    return groups;
  }

  void require_enough_endpoints(const NetworkCase& matrix_case) const {
    if (table_.is_one_node())
      throw BadInput("--concurrency matchings needs several nodes, and all ranks are on one node: omit --concurrency");
    if (const std::size_t count = table_.labels(matrix_case.by_node).size(); count < least_endpoints_for_matchings)
      throw BadInput("--concurrency matchings needs " + std::to_string(least_endpoints_for_matchings) +
                     (matrix_case.by_node ? " nodes" : " ranks") + " or more; the number here is " +
                     std::to_string(count) + ": omit --concurrency, because the whole matrix takes no longer");
  }

  void make_buffers(const NetworkCase& matrix_case) {
    const std::uint64_t bytes = matrix_case.bytes + matrix_case.offset;
    if (options_.memory == Memory::host) table_.check_memory(bytes);
    ranks_->reserve(std::max(bytes, least_buffer), table_.sharing(), patience());
    if (matrix_case.one_sided) ranks_->open_window(patience());
  }

  double patience() const { return std::max(least_patience, options_.pair_timeout); }

  /// Returns the template of all orders of a matrix.
  Order form_of(const NetworkCase& matrix_case, const MeasureOptions& how) const {
    Order form{matrix_case};
    form.window = options_.window;
    form.warmup = how.warmup;
    form.time_limit = options_.pair_timeout;
    return form;
  }

  Order next_order() {
    Order order;
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(&order, sizeof(order), MPI_BYTE, 0, order_tag, MPI_COMM_WORLD, &request), mpi_.rank(),
              "MPI_Irecv");
    for (std::uint64_t polls = 0; !mpi_.test(request); ++polls)
      polls < polls_before_sleep ? std::this_thread::yield() : std::this_thread::sleep_for(nap);
    heartbeat_.heard();
    return order;
  }

  /// Ends this rank when rank 0 has ended, because not every launcher ends the other ranks.
  void watch_rank_0() {
    HeartbeatAddress address = is_root() ? heartbeat_.answer() : HeartbeatAddress{};
    send_to_all(mpi_, address);
    if (is_root()) return;
    const bool prints_reason = mpi_.rank() == 1;
    heartbeat_.watch(address, Heartbeat::pace_of(mpi_.size()), [prints_reason] {
      if (prints_reason)
        std::cerr << std::string(program_invocation_short_name) + ": rank 0 has ended: the other ranks end\n";
      std::_Exit(static_cast<int>(ExitCode::device_error));
    });
  }

  /// Waits for rank 0 to end this rank, because MPI cannot end normally. Then ends this rank.
  [[noreturn]] static void leave() {
    std::this_thread::sleep_for(last_seconds);
    std::_Exit(static_cast<int>(ExitCode::timed_out));
  }

  static constexpr double least_reporting = 5;  ///< minimum time limit in seconds to send a report

  NetworkOptions options_;
  Heartbeat heartbeat_;  ///< runs until MPI ends
  Communicator mpi_;
  std::unique_ptr<Payload> payload_;
  std::optional<RankWorker> worker_;
  RankTable table_{{}, options_};  ///< only on rank 0, as the next three members
  std::optional<MpiRanks> ranks_;
  NodeTraffic traffic_;
  DriverPids driver_pids_;
  bool counters_late_ = false;  ///< whether waiting for adapters did not help
  bool window_asked_ = false;
  std::optional<std::string> why_no_window_;
  std::unique_ptr<Backend> devices_;
  Topology topology_;
  Software software_;
};

}  // namespace

std::unique_ptr<Network> Network::start(const NetworkOptions& options) { return std::make_unique<MpiNetwork>(options); }

}  // namespace linkmatrix::ranks
