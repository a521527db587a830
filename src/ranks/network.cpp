#include "ranks/network.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <thread>

#include "core/units.hpp"
#include "device/host/host_facts.hpp"
#include "device/mpi/communicator.hpp"
#include "ranks/cell_file.hpp"
#include "ranks/conductor.hpp"
#include "ranks/facts.hpp"
#include "ranks/sink.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double startup_seconds = 60;  // until all ranks are there
constexpr int polls_before_sleep = 2000;
constexpr auto nap = std::chrono::microseconds(50);    // of a rank that has nothing to do: the core may be a player's
constexpr auto last_breath = std::chrono::seconds(5);  // of a rank that the root should end
constexpr auto to_be_read = std::chrono::seconds(2);   // srun gets a line at a time, and none after an abort
constexpr std::uint64_t least_buffer = 64;

class MpiNetwork final : public Network {
 public:
  explicit MpiNetwork(const NetworkOptions& options) : options_{options} {
    const std::vector<Card> cards = introduce();
    if (!is_root()) return;
    for (std::size_t rank = 0; rank < cards.size(); ++rank) add(rank, cards[rank]);
    const std::string refused = refusal(cards);
    make_player();
    std::vector<std::string> labels, nodes;
    for (const Endpoint& endpoint : endpoints_) {
      labels.push_back(endpoint.label);
      nodes.push_back(endpoint.node);
    }
    conductor_ = std::make_unique<Conductor>(wire_, *player_, labels, nodes, [this](const Match& match, Order& order) {
      for (std::size_t k = 0; k < match.lanes.size(); ++k) {
        const auto from = static_cast<std::size_t>(match.lanes[k].source);
        const auto to = static_cast<std::size_t>(match.lanes[k].destination);
        order.lane[k].transport = way(from, to);
        order.same_node = same_node(from, to);
      }
    });
    if (!refused.empty()) {
      conductor_->dismiss();
      throw BadInput(refused);
    }
    describe(cards.front());
  }

  std::string name() const override { return "mpi"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  bool is_root() const override { return wire_.rank() == 0; }

  void serve() override {
    make_player();
    for (;;) {
      const Order order = next_order();
      if (order.task == Task::end) {
        if (order.lanes == 0) leave();
        return;
      }
      const Report report = player_->play(order);
      wire_.send_bytes(&report, sizeof(report), 0, report_tag);
      try {
        wire_.finish(Deadline::in(order.pair_timeout));
      } catch (const std::exception&) {
        leave();  // nobody is there any more who could want it
      }
    }
  }

  std::vector<std::string> labels(bool by_node) const override {
    std::vector<std::string> out = nodes_;
    if (by_node) return out;
    out.clear();
    for (const Endpoint& endpoint : endpoints_) out.push_back(endpoint.label);
    return out;
  }

  std::string link_class(bool by_node, std::size_t row, std::size_t column) const override {
    if (row == column) return "X";
    return by_node || !same_node(row, column) ? "NET" : "NODE";
  }

  /// Of two ranks: what was asked for, else what is there.
  std::string transport(bool by_node, std::size_t row, std::size_t column) const override {
    const std::size_t from = by_node ? static_cast<std::size_t>(ranks_of_[row].front()) : row;
    const std::size_t to = by_node ? static_cast<std::size_t>(ranks_of_[column].front()) : column;
    return std::string(word(way(from, to)));
  }

  Memory memory() const override { return options_.memory; }

  void measure(const NetworkCase& what, const MeasureOptions& how, Deadline deadline, MatrixResult& result) override {
    const Rounds rounds(ranks_of_, round_options(what, how));
    Order form;
    form.metric = what.metric;
    form.one_sided = what.one_sided;
    form.bytes = what.bytes;
    form.offset = what.offset;
    form.window = options_.window;
    form.warmup = how.warmup;
    form.verify = how.verify;
    form.stop = how.stop;
    form.pair_timeout = options_.pair_timeout;
    if (options_.memory == Memory::host) check_memory(what.bytes + what.offset);
    conductor_->reserve(std::max(what.bytes + what.offset, least_buffer), std::max(60.0, options_.pair_timeout));
    if (what.one_sided) conductor_->open_window(std::max(60.0, options_.pair_timeout));
    if (result.rows.size() > most_in_record)
      measure_large(what, rounds, form, how, deadline, result);
    else
      measure_whole(what, rounds, form, how, deadline, result);
  }

  void dismiss(ExitCode code) override {
    if (conductor_ == nullptr || conductor_->dismiss()) return;
    std::cout << std::flush;
    // mpirun passes the code on and ends what still runs; after MPI_Abort it says 0 where ranks may fail. Slurm's step
    // would wait for a rank that hangs.
    if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {
      std::this_thread::sleep_for(to_be_read);
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    }
    std::_Exit(static_cast<int>(code));
  }

 private:
  bool same_node(std::size_t a, std::size_t b) const { return endpoints_[a].node == endpoints_[b].node; }

  Transport way(std::size_t from, std::size_t to) const {
    if (options_.memory == Memory::host) return Transport::mpi;
    if (options_.transport != Transport::automatic) return options_.transport;
    if (same_node(from, to)) return Transport::ipc;
    return cuda_aware_ ? Transport::mpi : Transport::staged;
  }

  void measure_whole(const NetworkCase& what, const Rounds& rounds, const Order& form, const MeasureOptions& how,
                     Deadline deadline, MatrixResult& result) {
    for (std::size_t r = 0; r < result.rows.size(); ++r)
      for (std::size_t c = 0; c < result.columns.size(); ++c)
        if (rounds.has(r, c)) result.status(r, c) = CellStatus::not_run;
    ResultSink sink(result, what.by_node);
    conductor_->measure(rounds, form, how, deadline, result, sink);
  }

  void measure_large(const NetworkCase& what, const Rounds& rounds, const Order& form, const MeasureOptions& how,
                     Deadline deadline, MatrixResult& result) {
    std::filesystem::path file = options_.record;
    file.replace_extension();
    file += "." + result.testcase + "." + std::to_string(what.bytes) + ".npy";
    const std::size_t n = result.rows.size();
    CellFile cells(file, n, form.metric == Metric::bidirectional, form.verify);
    for (std::size_t r = 0; r < n && how.concurrency == Concurrency::bisection; ++r)
      for (std::size_t c = 0; c < n; ++c)
        if (!rounds.has(r, c)) cells.mark(r, c, CellStatus::not_applicable);
    const auto summarise = [&] {
      result.large = cells.summary([&](std::size_t r, std::size_t c) { return link_class(what.by_node, r, c); });
      result.cells_verified = cells.verified();
    };
    try {
      conductor_->measure(rounds, form, how, deadline, result, cells);
    } catch (...) {
      summarise();
      throw;
    }
    summarise();
  }

  std::vector<Card> introduce() {
    const HostFacts facts = host_facts();
    Card card;
    put(card.node, facts.name);
    put(card.version, std::string(LINKMATRIX_VERSION) + " of " + compiler_version());
    put(card.options, options_.options);
    put(card.network, mpi_network());
    put(card.device, "rank" + std::to_string(wire_.rank()));
    put(card.model, "host memory");
    card.available = available_memory();
    card.numa = own_numa();
    try {
      make_payload(card);
    } catch (const std::exception& e) {
      put(card.complaint, e.what());
    }
    own_label_ = text_of(card.node) + ":" + text_of(card.device);
    card.cuda_aware = mpi_is_cuda_aware();
    const std::vector<Adapter> all = adapters();
    card.adapters = static_cast<int>(all.size());
    std::vector<std::string> near;
    for (const Adapter& adapter : all)
      if (adapter.numa == card.numa || adapter.numa < 0 || card.numa < 0) near.push_back(adapter.name);
    put(card.nics, join(near, ","));
    std::vector<Card> cards(is_root() ? static_cast<std::size_t>(wire_.size()) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Igather(&card, sizeof(card), MPI_BYTE, cards.data(), sizeof(card), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
          wire_.rank(), "MPI_Igather");
    wait(request, Deadline::in(startup_seconds));
    return cards;
  }

  void wait(MPI_Request& request, Deadline deadline) {
    for (int done = 0; done == 0;) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), wire_.rank(), "MPI_Test");
      if (done == 0 && deadline.passed()) {
        session_.set_stuck();
        throw TimedOut("not all of the " + std::to_string(wire_.size()) + " ranks answered within " +
                       std::to_string(static_cast<int>(startup_seconds)) + " s of their start");
      }
      std::this_thread::yield();
    }
  }

  void add(std::size_t rank, const Card& card) {
    Endpoint endpoint;
    endpoint.index = static_cast<int>(rank);
    endpoint.node = text_of(card.node);
    endpoint.label = endpoint.node + ":" + text_of(card.device);
    endpoint.name = text_of(card.model);
    endpoint.uuid = text_of(card.uuid);
    endpoint.pci = text_of(card.pci);
    endpoint.numa = card.numa;
    if (const std::string nics = text_of(card.nics); !nics.empty()) endpoint.nics = split(nics, ',');
    const auto at = std::find(nodes_.begin(), nodes_.end(), endpoint.node);
    const auto node = static_cast<std::size_t>(at - nodes_.begin());
    if (at == nodes_.end()) {
      nodes_.push_back(endpoint.node);
      ranks_of_.emplace_back();
      available_.push_back(card.available);
    }
    ranks_of_[node].push_back(static_cast<int>(rank));
    cuda_aware_ = (rank == 0 || cuda_aware_) && card.cuda_aware;
    adapters_ = rank == 0 ? card.adapters : std::min(adapters_, card.adapters);
    endpoints_.push_back(std::move(endpoint));
  }

  /// Why the ranks do not fit together; empty: they do.
  std::string refusal(const std::vector<Card>& cards) const {
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
      const auto who = [&] { return "rank " + std::to_string(rank) + " on " + endpoints_[rank].node; };
      if (cards[rank].version != cards.front().version)
        return "the ranks differ: " + who() + " runs linkmatrix " + text_of(cards[rank].version) + ", rank 0 on " +
               endpoints_.front().node + " " + text_of(cards.front().version) + ": start the same program on all nodes";
      if (cards[rank].options != cards.front().options)
        return "the ranks' options differ: " + who() + " was given '" + text_of(cards[rank].options) + "', rank 0 '" +
               text_of(cards.front().options) + "': give all the same";
      if (cards[rank].complaint.front() != 0) return who() + ": " + text_of(cards[rank].complaint);
    }
    if (const std::string text = transport_refusal(); !text.empty()) return text;
    if (cards.size() < 2)
      return "there is one rank: start two or more with mpirun -n, or measure without --backend mpi";
    if (options_.fault && std::none_of(endpoints_.begin(), endpoints_.end(), [this](const Endpoint& endpoint) {
          return is_me(*options_.fault, endpoint.label);
        }))
      return "--simulate-fault: there is no endpoint '" + options_.fault->endpoint + "', the first one is '" +
             endpoints_.front().label + "'";
    return "";
  }

  /// Why the wanted transport cannot be.
  std::string transport_refusal() const {
    const bool device = options_.memory == Memory::device;
    const Transport asked = options_.transport;
    if (!device && asked != Transport::automatic && asked != Transport::mpi)
      return "--transport " + std::string(word(asked)) + " is for --memory device: host memory goes by MPI";
    if (device && asked == Transport::mpi && !cuda_aware_)
      return "--transport mpi: " + mpi_library() + " does not say that it takes addresses of devices (CUDA-aware)";
    if (asked == Transport::ipc && nodes_.size() > 1)
      return "--transport ipc reaches the devices of one node only: start all ranks on one";
    for (std::size_t a = 0; a < endpoints_.size() && device; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (endpoints_[a].uuid == endpoints_[b].uuid)
          return "two ranks have the same GPU, " + endpoints_[a].uuid + ": start one rank for each GPU";
    return "";
  }

  static bool is_me(const SimulatedFault& fault, const std::string& label) {
    return fault.endpoint == label || label.ends_with(":" + fault.endpoint);
  }

  void make_payload(Card& card) {
    if (options_.memory == Memory::host) {
      payload_ = std::make_unique<HostPayload>(wire_, options_.huge_pages);
      return;
    }
    if (!options_.device_payload)
      throw BadInput("--memory device: this p2p_matrix was built without it: configure with -DLINKMATRIX_CUDA=ON");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, wire_.rank(), MPI_INFO_NULL, &node), wire_.rank(),
          "MPI_Comm_split_type");
    int number = 0;
    MPI_Comm_rank(node, &number);
    MPI_Comm_free(&node);
    payload_ = options_.device_payload(wire_, number, card);
  }

  void make_player() {
    std::optional<SimulatedFault::Kind> fault;
    if (options_.fault && is_me(*options_.fault, own_label_)) fault = options_.fault->kind;
    player_ = std::make_unique<Player>(wire_, *payload_, fault);
  }

  void describe(const Card& card) {
    const std::size_t n = endpoints_.size() > most_in_record ? 0 : endpoints_.size();  // else the nodes say it
    topology_ = {Matrix<std::string>(n, n), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n),
                 Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
    for (std::size_t r = 0; r < n; ++r) {
      topology_.min_path(r, r) = 0;
      for (std::size_t c = 0; c < n; ++c) topology_.link_class(r, c) = link_class(false, r, c);
    }
    software_ = {{"MPI", mpi_library()},
                 {"MPI network", text_of(card.network)},
                 {"CUDA-aware MPI", cuda_aware_ ? "yes" : "no"},
                 {"compiler", compiler_version()},
                 {"kernel", kernel_release()}};
  }

  RoundOptions round_options(const NetworkCase& what, const MeasureOptions& how) const {
    RoundOptions options;
    options.by_node = what.by_node;
    options.both_ways = what.metric == Metric::bidirectional;
    options.bisection = how.concurrency == Concurrency::bisection;
    options.mapping = options_.mapping;
    options.lanes = options_.lanes;
    if (options.lanes == 0 && !what.by_node && nodes_.size() > 1)
      options.lanes = static_cast<std::size_t>(std::max(1, adapters_));
    if (nodes_.size() < 2 && (options.bisection || what.by_node))
      throw BadInput("all ranks are on one node: matrices of nodes and --concurrency bisection need two or more");
    if (what.by_node && std::min(options.lanes == 0 ? most_lanes : options.lanes, widest_node()) > most_lanes)
      throw BadInput("--pairs-per-node: at most " + std::to_string(most_lanes) + " pairs of ranks go together");
    return options;
  }

  std::size_t widest_node() const {
    std::size_t most = 0;
    for (const auto& ranks : ranks_of_) most = std::max(most, ranks.size());
    return most;
  }

  /// Each rank alone would find enough, and all of a node together would end in the kernel's hunt for memory.
  void check_memory(std::uint64_t bytes) const {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const std::uint64_t needed = 2 * bytes * ranks_of_[node].size();
      if (needed > available_[node])
        throw BadInput("--size needs " + format_size(needed) + " of host memory for the ranks on " + nodes_[node] +
                       ", where " + std::to_string(available_[node] / MiB) +
                       " MiB are available: use a smaller --size or fewer ranks a node");
    }
  }

  Order next_order() {
    Order order;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(&order, sizeof(order), MPI_BYTE, 0, order_tag, MPI_COMM_WORLD, &request), wire_.rank(),
          "MPI_Irecv");
    int done = 0;
    for (int polls = 0; done == 0; ++polls) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), wire_.rank(), "waiting for an order");
      if (done != 0) break;
      polls < polls_before_sleep ? std::this_thread::yield() : std::this_thread::sleep_for(nap);
    }
    return order;
  }

  /// The conductor ends all that MPI cannot end in order; where it cannot reach this rank, it ends by itself.
  [[noreturn]] static void leave() {
    std::this_thread::sleep_for(last_breath);
    std::_Exit(static_cast<int>(ExitCode::timed_out));
  }

  NetworkOptions options_;
  Session session_;
  Wire wire_{session_};
  std::string own_label_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::string> nodes_;
  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::uint64_t> available_;
  int adapters_ = 0;
  bool cuda_aware_ = false;
  Topology topology_;
  Software software_;
  std::unique_ptr<Payload> payload_;
  std::unique_ptr<Player> player_;
  std::unique_ptr<Conductor> conductor_;
};

}  // namespace

std::unique_ptr<Network> Network::start(const NetworkOptions& options) { return std::make_unique<MpiNetwork>(options); }

}  // namespace linkmatrix::ranks
