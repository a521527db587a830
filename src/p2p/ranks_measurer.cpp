#include "p2p/ranks_measurer.hpp"

#include <climits>

#include "core/units.hpp"
#include "ranks/network.hpp"
#ifdef LINKMATRIX_IPC
#include "ranks/device/device_payload.hpp"
#endif

namespace linkmatrix {
namespace {

constexpr std::uint64_t default_message = MiB;  // large enough for every protocol's plateau
constexpr std::uint64_t latency_message = 16;   // smaller than any packet

class RanksMeasurer final : public Measurer {
 public:
  explicit RanksMeasurer(const ranks::NetworkOptions& options) : network_{ranks::Network::start(options)} {}

  Machine& machine() override { return *network_; }
  bool chooses_memory() const override { return true; }
  bool only_serves() const override { return !network_->is_root(); }
  void serve() override { network_->serve(); }
  void dismiss(ExitCode code) override { network_->dismiss(code); }

  std::optional<std::string> why_not(const TestCase& t, const PlanOptions&) const override {
    if (t.engine != Engine::mpi)
      return "ranks exchange messages: the test cases named rank_to_rank_* and node_to_node_* do";
    if (t.one_sided && network_->memory() == Memory::device)
      return "one-sided puts are measured between host memory: leave out --memory device";
    if (t.pattern == Pattern::nodes && network_->labels(true).size() < 2)
      return "all ranks are on one node, and it needs two or more";
    return std::nullopt;
  }

  std::uint64_t default_bytes(const TestCase& t) const override {
    return t.metric == Metric::latency ? latency_message : default_message;
  }
  bool has_own_size(const TestCase&) const override { return false; }

  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    if (const auto reason = why_not(t, options))
      throw BadInput("--testcase " + std::string(t.name) + " cannot run here: " + *reason);
    if (options.bytes > INT_MAX) throw BadInput("--size: a message has at most 2147483647 bytes");
    if (options.bytes == 0 && t.metric != Metric::latency)
      throw BadInput("--size 0: without bytes there is only a latency");
    what_ = {t.metric, t.pattern == Pattern::nodes, t.one_sided, options.bytes, options.offset};
    MatrixResult result;
    result.testcase = t.name;
    result.metric = t.metric;
    result.quantity = t.metric == Metric::latency         ? "copy latency"
                      : t.metric == Metric::bidirectional ? "sum of both directions"
                      : what_.by_node                     ? "total bandwidth"
                                                          : "bandwidth";
    result.direction = t.direction;
    result.engine = t.engine;
    result.memory = network_->memory();
    result.unit = t.metric == Metric::latency ? "us" : "GB/s";
    result.size_bytes = options.bytes;
    result.offset = options.offset;
    shape(options, result);
    return result;
  }

  void measure(const MeasureOptions& how, Deadline deadline, MatrixResult& result) override {
    network_->measure(what_, how, deadline, result);
  }

 private:
  void shape(const PlanOptions& options, MatrixResult& result) const {
    const auto labels = network_->labels(what_.by_node);
    result.transport = network_->transport(what_.by_node, 0, 1);
    if (labels.size() > ranks::most_in_record) {
      result.rows = result.columns = labels;
      return;
    }
    result.shape(labels, labels);
    for (std::size_t r = 0; r < labels.size(); ++r)
      for (std::size_t c = 0; c < labels.size(); ++c) {
        const std::string link_class = network_->link_class(what_.by_node, r, c);
        result.link_class(r, c) = link_class;
        if (r != c) name_transport(r, c, result);
        const auto limit = options.limits.find(link_class);
        if (limit != options.limits.end() && what_.metric != Metric::latency)
          result.limit(r, c) = limit->second * (what_.metric == Metric::bidirectional ? 2 : 1);
      }
  }

  /// Of each pair, where they differ.
  void name_transport(std::size_t r, std::size_t c, MatrixResult& result) const {
    const std::string transport = network_->transport(what_.by_node, r, c);
    if (transport == result.transport && result.transports.empty()) return;
    if (result.transports.empty()) {
      result.transports = Matrix<std::string>(result.rows.size(), result.columns.size(), result.transport);
      for (std::size_t d = 0; d < result.rows.size(); ++d) result.transports(d, d) = "";
      result.transport = word(Transport::automatic);
    }
    result.transports(r, c) = transport;
  }

  std::unique_ptr<ranks::Network> network_;
  ranks::NetworkCase what_;
};

}  // namespace

std::unique_ptr<Measurer> make_ranks_measurer(const P2pOptions& options) {
  if (!options.devices.empty()) throw BadInput("--devices does not choose ranks: start fewer with mpirun -n");
  ranks::NetworkOptions network = options.ranks;
  network.huge_pages = options.host_memory.huge;
  network.fault = options.fault;
  network.memory = options.axes.memory.value_or(Memory::host);
#ifdef LINKMATRIX_IPC
  network.device_payload = ranks::make_device_payload;
#endif
  network.record = options.record.value_or("p2p_matrix.json");
  std::vector<std::string> words = options.command;
  words.erase(words.begin());  // the program may lie elsewhere on another node
  network.options = join(words, " ");
  return std::make_unique<RanksMeasurer>(network);
}

}  // namespace linkmatrix
