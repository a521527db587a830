#include "ranks/network.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <thread>

#include "core/units.hpp"
#include "device/host/host_facts.hpp"
#include "device/mpi/communicator.hpp"
#include "ranks/cards.hpp"
#include "ranks/cell_file.hpp"
#include "ranks/conductor.hpp"
#include "ranks/roll.hpp"
#include "ranks/sink.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr int polls_before_sleep = 2000;
constexpr auto nap = std::chrono::microseconds(50);    // of a rank that has nothing to do: the core may be a player's
constexpr auto last_breath = std::chrono::seconds(5);  // of a rank that the root should end
constexpr auto to_be_read = std::chrono::seconds(2);   // srun gets a line at a time, and none after an abort
constexpr double least_patience = 60;                  // seconds for what all ranks do together
constexpr std::uint64_t least_buffer = 64;

class MpiNetwork final : public Network {
 public:
  explicit MpiNetwork(const NetworkOptions& options) : options_{options} {
    Introduction mine = introduce(wire_, options_);
    payload_ = std::move(mine.payload);
    std::optional<SimulatedFault::Kind> fault;
    if (options_.fault && is_meant(*options_.fault, label_of(mine.card))) fault = options_.fault->kind;
    player_.emplace(wire_, *payload_, fault);
    const std::vector<Card> cards = gather(wire_, mine.card);
    if (!is_root()) return;
    roll_ = Roll(cards, options_);
    conductor_.emplace(Ensemble(wire_, *player_, roll_.labels(false), roll_.nodes_of_ranks()),
                       [this](Order& order) { route(order); });
    if (!roll_.refusal().empty()) {
      conductor_->dismiss();
      throw BadInput(roll_.refusal());
    }
    topology_ = roll_.topology(most_in_record);
    software_ = {{"MPI", mpi_library()},
                 {"MPI network", text_of(mine.card.network)},
                 {"CUDA-aware MPI", roll_.cuda_aware() ? "yes" : "no"},
                 {"compiler", compiler_version()},
                 {"kernel", kernel_release()}};
  }

  std::string name() const override { return "mpi"; }
  const std::vector<Endpoint>& endpoints() const override { return roll_.endpoints(); }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  bool is_root() const override { return wire_.rank() == 0; }

  std::vector<DeviceState> device_states() override {
    const bool drill = options_.fault && options_.fault->kind == SimulatedFault::Kind::counter;
    if (!conductor_ || (options_.memory == Memory::host && !drill)) return {};
    return conductor_->device_states();
  }

  void serve() override {
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

  std::vector<std::string> labels(bool by_node) const override { return roll_.labels(by_node); }
  std::string link_class(bool by_node, std::size_t row, std::size_t column) const override {
    return roll_.link_class(by_node, row, column);
  }
  std::string transport(bool by_node, std::size_t row, std::size_t column) const override {
    return roll_.transport(by_node, row, column);
  }
  Memory memory() const override { return options_.memory; }

  void measure(const NetworkCase& what, const MeasureOptions& how, Deadline deadline, MatrixResult& result) override {
    const bool both_ways = what.metric == Metric::bidirectional;
    const Rounds rounds = roll_.rounds(what.by_node, both_ways, how.concurrency == Concurrency::bisection);
    const Order form = form_of(what, how);
    const std::uint64_t bytes = what.bytes + what.offset;
    const double patience = std::max(least_patience, options_.pair_timeout);
    if (options_.memory == Memory::host) roll_.check_memory(bytes);
    conductor_->reserve(std::max(bytes, least_buffer), patience);
    if (what.one_sided) conductor_->open_window(patience);
    if (result.rows.size() > most_in_record)
      measure_large(what, rounds, form, how, deadline, result);
    else
      measure_whole(what, rounds, form, how, deadline, result);
  }

  void dismiss(ExitCode code) override {
    if (!conductor_ || conductor_->dismiss()) return;
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
  /// What all orders of a matrix have in common.
  Order form_of(const NetworkCase& what, const MeasureOptions& how) const {
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
    return form;
  }

  void route(Order& order) const {
    for (Lane& lane : std::span(order.lane).first(static_cast<std::size_t>(order.lanes))) {
      const auto from = static_cast<std::size_t>(lane.source), to = static_cast<std::size_t>(lane.destination);
      lane.transport = roll_.way(from, to);
      order.same_node = roll_.same_node(from, to);
    }
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
      name_transports(result);
    };
    try {
      conductor_->measure(rounds, form, how, deadline, result, cells);
    } catch (...) {
      summarise();
      throw;
    }
    summarise();
  }

  void name_transports(MatrixResult& result) const {
    std::set<std::string> all;
    for (auto& one : result.large->classes)
      all.insert(one.transport = std::string(word(roll_.way(one.name == inside_node))));
    if (all.size() > 1) result.transport = word(Transport::automatic);
  }

  Order next_order() {
    Order order;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(&order, sizeof(order), MPI_BYTE, 0, order_tag, MPI_COMM_WORLD, &request), wire_.rank(),
          "MPI_Irecv");
    for (int polls = 0; !wire_.test(request); ++polls)
      polls < polls_before_sleep ? std::this_thread::yield() : std::this_thread::sleep_for(nap);
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
  std::unique_ptr<Payload> payload_;
  std::optional<Player> player_;
  Roll roll_{{}, options_};  ///< at the root
  std::optional<Conductor> conductor_;
  Topology topology_;
  Software software_;
};

}  // namespace

std::unique_ptr<Network> Network::start(const NetworkOptions& options) { return std::make_unique<MpiNetwork>(options); }

}  // namespace linkmatrix::ranks
