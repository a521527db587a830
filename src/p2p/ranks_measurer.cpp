#include "p2p/ranks_measurer.hpp"

#include <algorithm>
#include <climits>
#include <map>

#include "core/units.hpp"
#include "p2p/measure_plan.hpp"
#include "program/program_main.hpp"
#include "ranks/network.hpp"
#ifdef LINKMATRIX_RANK_DEVICES
#include "ranks/device/device_payload.hpp"
#endif

namespace linkmatrix {
namespace {

constexpr std::uint64_t default_message = MiB;     // large enough for the plateau of every protocol
constexpr std::uint64_t latency_message = 16;      // smaller than any packet
constexpr std::uint64_t default_copy = 512 * MiB;  // copies between devices, as in one process

class RanksMeasurer final : public Measurer {
 public:
  RanksMeasurer(const ranks::NetworkOptions& options, std::optional<SimulatedFault> fault)
      : network_{ranks::Network::start(options)},
        transport_{options.transport},
        pairs_{options.pairs_per_node},
        pair_timeout_{options.pair_timeout},
        fault_{std::move(fault)} {}

  Machine& machine() override { return *network_; }
  bool chooses_memory() const override { return true; }

  std::optional<std::string> why_not(const TestCase& t, const PlanOptions& options) const override {
    if (t.engine != Engine::mpi) return why_no_copies(t, options);
    if (t.one_sided && network_->memory() == Memory::device)
      return "one-sided puts need host memory: omit --memory device";
    if (t.pattern == Pattern::nodes && network_->labels(true).size() < 2)
      return "it needs two or more nodes, and all ranks are on one node";
    return t.one_sided ? network_->why_no_window() : std::nullopt;
  }

  std::uint64_t default_bytes(const TestCase& t) const override {
    if (t.engine != Engine::mpi) return default_copy;
    return t.metric == Metric::latency ? latency_message : default_message;
  }
  bool has_fixed_size(const TestCase& t) const override {
    return t.engine != Engine::mpi && t.metric == Metric::latency;
  }

  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    if (const auto reason = why_not(t, options))
      throw BadInput("--testcase " + std::string(t.name) + " cannot run here: " + *reason);
    copies_.reset();
    if (t.engine != Engine::mpi) return plan_copies(t, options);
    if (options.bytes > INT_MAX) throw BadInput("--size is larger than a message can be: use at most 2147483647 bytes");
    if (options.bytes == 0 && t.metric != Metric::latency)
      throw BadInput("--size 0: only latencies can be measured with empty messages");
    matrix_case_ = {{t.metric, t.one_sided, options.bytes, options.offset}, t.pattern == Pattern::nodes};
    MatrixResult result;
    result.testcase = t.name;
    result.metric = t.metric;
    result.quantity = t.metric == Metric::latency         ? "copy latency"
                      : t.metric == Metric::bidirectional ? "sum of both directions"
                      : matrix_case_.by_node              ? "total bandwidth"
                                                          : "bandwidth";
    result.direction = t.direction;
    result.engine = t.engine;
    result.memory = network_->memory();
    result.unit = t.metric == Metric::latency ? "us" : "GB/s";
    result.size_bytes = options.bytes;
    result.offset = options.offset;
    if (matrix_case_.by_node && pairs_ > 0 && pairs_ < ranks_of_a_node()) result.pairs = static_cast<int>(pairs_);
    shape(options, result);
    return result;
  }

  bool is_affected_by(const SimulatedFault& fault, Concurrency concurrency) override {
    if (copies_) return has_fault(*network_->devices(), *copies_, fault);
    return network_->is_affected_by(matrix_case_, concurrency, fault);
  }

  void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) override {
    if (copies_) return measure_copies(how, deadline, record);
    network_->measure(matrix_case_, how, deadline, record, fault_);
  }

 private:
  /// Returns why a test case of copies between the devices of ranks cannot run; nothing if it can.
  std::optional<std::string> why_no_copies(const TestCase& t, const PlanOptions& options) const {
    Backend* const devices = network_->devices();
    if (devices == nullptr)
      return "ranks exchange messages: choose rank_to_rank_* or node_to_node_*, or device_to_device_* with --memory "
             "device";
    if (transport_ == Transport::mpi || transport_ == Transport::staged)
      return "--transport " + std::string(word(transport_)) +
             " applies to messages, and this test case copies between devices";
    if (devices->endpoints().size() > ranks::most_in_record)
      return "copies between devices are limited to " + std::to_string(ranks::most_in_record) + " ranks";
    return linkmatrix::why_not(t, *devices, options);
  }

  void measure_copies(MeasureOptions how, Deadline deadline, Guarded<Record>& record) {
    if (how.concurrency == Concurrency::matchings)
      throw BadInput("--concurrency matchings needs messages between nodes: choose rank_to_rank_* or node_to_node_*");
    how.cell_timeout = pair_timeout_;
    measure_plan(*network_->devices(), *copies_, how, deadline, record, fault_);
  }

  MatrixResult plan_copies(const TestCase& t, const PlanOptions& options) {
    copies_ = make_plan(t, *network_->devices(), options);
    if (t.pattern != Pattern::local) copies_->result.transport = word(network_->sharing());
    return copies_->result;
  }

  void shape(const PlanOptions& options, MatrixResult& result) const {
    const auto labels = network_->labels(matrix_case_.by_node);
    result.transport = network_->transport(matrix_case_.by_node, 0, 1);
    if (labels.size() > ranks::most_in_record) {
      result.rows = result.columns = labels;
      return;
    }
    result.set_labels(labels, labels);
    for (std::size_t r = 0; r < labels.size(); ++r)
      for (std::size_t c = 0; c < labels.size(); ++c) {
        const std::string link_class = network_->link_class(matrix_case_.by_node, r, c);
        result.link_class(r, c) = link_class;
        if (r != c) result.status(r, c) = CellStatus::not_run;
        if (r != c) name_transport(r, c, result);
        const auto limit = options.limits.find(link_class);
        const std::optional<double> known =
            limit != options.limits.end() ? std::optional(limit->second) : link_limit(r, c);
        if (known && r != c && matrix_case_.metric != Metric::latency)
          result.limit(r, c) = *known * (matrix_case_.metric == Metric::bidirectional ? 2 : 1);
      }
  }

  /// Returns the limit of one direction in GB/s, if devices write each other's memory.
  std::optional<double> link_limit(std::size_t r, std::size_t c) const {
    const Transport transport = parse_word<Transport>(network_->transport(matrix_case_.by_node, r, c));
    const auto& limits = network_->topology().limit;
    if (matrix_case_.by_node || transport == Transport::mpi || transport == Transport::staged || r >= limits.rows())
      return std::nullopt;
    return limits(r, c);
  }

  /// Returns the maximum number of ranks per node.
  std::size_t ranks_of_a_node() const {
    std::map<std::string, std::size_t> ranks;
    for (const Endpoint& rank : network_->endpoints()) ++ranks[rank.node];
    std::size_t most = 0;
    for (const auto& [node, count] : ranks) most = std::max(most, count);
    return most;
  }

  /// Transport of each pair, if transports differ.
  void name_transport(std::size_t r, std::size_t c, MatrixResult& result) const {
    const std::string transport = network_->transport(matrix_case_.by_node, r, c);
    if (transport == result.transport && result.transports.empty()) return;
    if (result.transports.empty()) {
      result.transports = Matrix<std::string>(result.rows.size(), result.columns.size(), result.transport);
      for (std::size_t d = 0; d < result.rows.size(); ++d) result.transports(d, d) = "";
      result.transport = word(Transport::automatic);
    }
    result.transports(r, c) = transport;
  }

  std::unique_ptr<ranks::Network> network_;
  Transport transport_;
  std::size_t pairs_;  ///< --pairs-per-node, 0: all
  double pair_timeout_;
  std::optional<SimulatedFault> fault_;
  ranks::NetworkCase matrix_case_;
  std::optional<Plan> copies_;  ///< plan of a test case of copies; nothing: of messages
};

}  // namespace

std::unique_ptr<Measurer> make_ranks_measurer(const P2pOptions& options) {
  ranks::NetworkOptions network = options.ranks;
  network.huge_pages = options.host_memory.huge;
  network.memory = options.axes.memory.value_or(Memory::host);
#ifdef LINKMATRIX_RANK_DEVICES
  network.devices = ranks::device_support();
  if (network.memory == Memory::device) ranks::expect_devices(launched_ranks());
#endif
  network.record = options.record.value_or("p2p_matrix.json");
  network.set_command(options.command);
  return std::make_unique<RanksMeasurer>(network, options.fault);
}

}  // namespace linkmatrix
