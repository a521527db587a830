#include "collective/nccl/nccl_worker.hpp"

#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "collective/expected.hpp"
#include "collective/nccl/elements.hpp"
#include "collective/nccl_log.hpp"
#include "device/cuda/handles.hpp"

namespace linkmatrix {
namespace {

using cuda::check;

void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::string said = ncclGetLastError(nullptr);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  if (said.find("no algorithm/protocol available") != std::string::npos)
    throw NotAvailable(std::string(call) + ": NCCL has no such algorithm, protocol or number of channels here");
  throw DeviceError(std::string(call) + " failed: " + ncclGetErrorString(status) + (said.empty() ? "" : ": " + said));
}

constexpr std::array types {
  std::pair{ElementType::f32, ncclFloat32}, std::pair{ElementType::f64, ncclFloat64},
      std::pair{ElementType::f16, ncclFloat16}, std::pair{ElementType::bf16, ncclBfloat16},
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 3)
      std::pair{ElementType::f8e4m3, ncclFloat8e4m3}, std::pair{ElementType::f8e5m2, ncclFloat8e5m2},
#endif
      std::pair{ElementType::i8, ncclInt8}, std::pair{ElementType::u8, ncclUint8},
      std::pair{ElementType::i32, ncclInt32}, std::pair{ElementType::u32, ncclUint32},
      std::pair{ElementType::i64, ncclInt64}, std::pair {
    ElementType::u64, ncclUint64
  }
};

constexpr std::array reductions{std::pair{Reduction::sum, ncclSum}, std::pair{Reduction::prod, ncclProd},
                                std::pair{Reduction::min, ncclMin}, std::pair{Reduction::max, ncclMax},
                                std::pair{Reduction::avg, ncclAvg}};

template <class Key, class Value, std::size_t n>
std::optional<Value> find(const std::array<std::pair<Key, Value>, n>& table, Key key) {
  for (const auto& [known, value] : table)
    if (known == key) return value;
  return std::nullopt;
}

/// What forces a choice of NCCL when a communicator is made, by the variable that it reads then.
using Forced = std::map<std::string, std::string>;

Forced forced_by(const CollectiveCase& wanted) {
  Forced forced;
  if (wanted.algorithm[0] != 0) forced["NCCL_ALGO"] = wanted.algorithm.data();
  if (wanted.protocol[0] != 0) forced["NCCL_PROTO"] = wanted.protocol.data();
  if (wanted.channels > 0) {
    forced["NCCL_MIN_NCHANNELS"] = std::to_string(wanted.channels);
    forced["NCCL_MAX_NCHANNELS"] = std::to_string(wanted.channels);
  }
  return forced;
}

/// Variables of the environment that have these values as long as this lives.
class Environment {
 public:
  explicit Environment(const Forced& variables) {
    for (const auto& [name, value] : variables) {
      const char* const before = std::getenv(name.c_str());
      before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

struct GraphTraits {
  using Value = cudaGraphExec_t;
  static void destroy(Value graph) { cudaGraphExecDestroy(graph); }
};
using Graph = cuda::Handle<GraphTraits>;

/// A rank of this process.
struct LocalRank {
  int number = 0, ordinal = 0;
  std::string label;
  cuda::Stream stream{};
  cuda::Event begin{}, end{};
  cuda::DeviceMemory send{}, receive{}, wrong{};
  std::uint64_t send_bytes = 0, receive_bytes = 0;
  Graph graph{};

  void use() const { cuda::use(ordinal, label); }
};

class NcclWorker final : public CollectiveWorker {
 public:
  NcclWorker(NcclRanks ranks, const NcclId& id) : all_{ranks.ranks} {
    for (std::size_t i = 0; i < ranks.ordinals.size(); ++i) {
      LocalRank& rank = ranks_.emplace_back();
      rank.number = ranks.first + static_cast<int>(i);
      rank.ordinal = ranks.ordinals[i];
      rank.label = ranks.labels[i];
      rank.use();
      rank.stream = cuda::make_stream(rank.label);
      rank.begin = cuda::make_event(rank.label);
      rank.end = cuda::make_event(rank.label);
      rank.wrong = cuda::make_device_memory(sizeof(unsigned long long), rank.label);
    }
    ncclUniqueId unique{};
    std::memcpy(&unique, id.data(), sizeof(unique));
    base_.resize(ranks_.size());
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].use();
      check_nccl(ncclCommInitRank(&base_[i], all_, unique, ranks_[i].number), "ncclCommInitRank");
    }
    check_nccl(ncclGroupEnd(), "ncclCommInitRank");
  }

  // Communicators are left to the end of the process: to destroy them takes half a second.

  void prepare(const CollectiveCase& wanted, Deadline deadline) override {
    wanted_ = wanted;
    layout_ = layout_of(wanted, all_);
    const std::uint64_t bytes = layout_.elements() * bytes_of(wanted.type);
    for (LocalRank& rank : ranks_) {
      rank.graph = {};
      reserve(rank, rank.receive, rank.receive_bytes, bytes);
      if (!wanted.in_place) reserve(rank, rank.send, rank.send_bytes, bytes);
    }
    choose_communicators();
    fill();
    wait(deadline);
  }

  /// Timed by events in each device's stream: the host's way into the first collective and out of the last one, 40 µs
  /// on two H200, is not theirs.
  RankTimes run(int repeats, Deadline deadline) override {
    if (wanted_.graph) record_graph(repeats);
    mark(&LocalRank::begin);
    if (wanted_.graph)
      launch_graph();
    else
      for (int i = 0; i < repeats; ++i) once();
    mark(&LocalRank::end);
    wait(deadline);
    RankTimes times;
    for (const LocalRank& rank : ranks_) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, rank.begin.get(), rank.end.get()), rank.label, "cudaEventElapsedTime");
      times.add(static_cast<double>(milliseconds) * 1e-3);
    }
    return times;
  }

  std::uint64_t verify(Deadline deadline) override {
    spoil();
    fill();
    once();
    compare();
    wait(deadline);
    refuse_other_choice();
    std::uint64_t wrong = 0;
    for (const LocalRank& rank : ranks_) {
      unsigned long long found = 0;
      check(cudaMemcpy(&found, rank.wrong.get(), sizeof(found), cudaMemcpyDeviceToHost), rank.label, "cudaMemcpy");
      wrong += found;
    }
    return wrong;
  }

  std::string choice() const override { return is_made_of_sends(wanted_.what) ? "" : last_choice(nccl_log()); }

 private:
  static void reserve(const LocalRank& rank, cuda::DeviceMemory& memory, std::uint64_t& has, std::uint64_t bytes) {
    if (has >= bytes) return;
    rank.use();
    memory = {};
    has = 0;
    memory = cuda::make_device_memory(bytes, rank.label);
    has = bytes;
  }

  /// NCCL reads what is forced when a communicator is made; one that is split off shares all else with the first.
  void choose_communicators() {
    const Forced forced = forced_by(wanted_);
    if (forced.empty()) {
      now_ = &base_;
      return;
    }
    auto& found = forced_[forced];
    now_ = &found;
    if (!found.empty()) return;
    const Environment environment(forced);
    std::vector<ncclComm_t> made(ranks_.size());
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      check_nccl(ncclCommSplit(base_[i], 0, ranks_[i].number, &made[i], nullptr), "ncclCommSplit");
    check_nccl(ncclGroupEnd(), "ncclCommSplit");
    found = std::move(made);
  }

  std::byte* sending(const LocalRank& rank) const {
    if (!wanted_.in_place) return rank.send.get();
    return rank.receive.get() + (layout_.received > layout_.sent ? part_offset(rank) : 0);
  }
  std::byte* receiving(const LocalRank& rank) const {
    const bool into_part = wanted_.in_place && layout_.sent > layout_.received;
    return rank.receive.get() + (into_part ? part_offset(rank) : 0);
  }
  std::uint64_t part_offset(const LocalRank& rank) const {
    return place_of_part(layout_, rank.number) * bytes_of(wanted_.type);
  }

  /// Of all ranks of this process, one collective.
  void once() {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks_.size(); ++i) begin(ranks_[i], (*now_)[i]);
    check_nccl(ncclGroupEnd(), word(wanted_.what).data());
  }

  void begin(const LocalRank& rank, ncclComm_t comm) const {
    const ncclDataType_t type = *find(types, wanted_.type);
    const ncclRedOp_t op = *find(reductions, wanted_.reduction);
    const std::byte* const from = sending(rank);
    std::byte* const to = receiving(rank);
    const cudaStream_t stream = rank.stream.get();
    const std::size_t count = layout_.sent, part = layout_.part;
    const int root = wanted_.root;
    switch (wanted_.what) {
      case Collective::all_reduce:
        return check_nccl(ncclAllReduce(from, to, count, type, op, comm, stream), "ncclAllReduce");
      case Collective::all_gather:
        return check_nccl(ncclAllGather(from, to, part, type, comm, stream), "ncclAllGather");
      case Collective::reduce_scatter:
        return check_nccl(ncclReduceScatter(from, to, part, type, op, comm, stream), "ncclReduceScatter");
      case Collective::broadcast:
        return check_nccl(ncclBroadcast(from, to, count, type, root, comm, stream), "ncclBroadcast");
      case Collective::reduce:
        return check_nccl(ncclReduce(from, to, count, type, op, root, comm, stream), "ncclReduce");
      case Collective::alltoall:
        for (int peer = 0; peer < all_; ++peer) {
          send(part_at(from, peer), part, peer, comm, stream);
          receive(part_at(to, peer), part, peer, comm, stream);
        }
        return;
      case Collective::gather:
        send(from, part, root, comm, stream);
        for (int peer = 0; rank.number == root && peer < all_; ++peer)
          receive(part_at(to, peer), part, peer, comm, stream);
        return;
      case Collective::scatter:
        for (int peer = 0; rank.number == root && peer < all_; ++peer)
          send(part_at(from, peer), part, peer, comm, stream);
        return receive(to, part, root, comm, stream);
      case Collective::sendrecv:
        send(from, count, (rank.number + 1) % all_, comm, stream);
        return receive(to, count, (rank.number + all_ - 1) % all_, comm, stream);
    }
  }

  template <class Byte>
  Byte* part_at(Byte* buffer, int peer) const {
    return buffer + place_of_part(layout_, peer) * bytes_of(wanted_.type);
  }
  void send(const std::byte* from, std::size_t count, int peer, ncclComm_t comm, cudaStream_t stream) const {
    check_nccl(ncclSend(from, count, *find(types, wanted_.type), peer, comm, stream), "ncclSend");
  }
  void receive(std::byte* to, std::size_t count, int peer, ncclComm_t comm, cudaStream_t stream) const {
    check_nccl(ncclRecv(to, count, *find(types, wanted_.type), peer, comm, stream), "ncclRecv");
  }

  void record_graph(int repeats) {
    if (graph_repeats_ == repeats && ranks_.front().graph) return;
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaStreamBeginCapture(rank.stream.get(), cudaStreamCaptureModeThreadLocal), rank.label,
            "cudaStreamBeginCapture");
    }
    for (int i = 0; i < repeats; ++i) once();
    std::vector<cudaGraph_t> recorded(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {  // all, before any call that a recording forbids
      ranks_[i].use();
      check(cudaStreamEndCapture(ranks_[i].stream.get(), &recorded[i]), ranks_[i].label, "cudaStreamEndCapture");
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].use();
      cudaGraphExec_t made = nullptr;
      check(cudaGraphInstantiate(&made, recorded[i], 0), ranks_[i].label, "cudaGraphInstantiate");
      ranks_[i].graph = Graph(made);
      cudaGraphDestroy(recorded[i]);
    }
    graph_repeats_ = repeats;
  }

  void mark(cuda::Event LocalRank::*event) const {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaEventRecord((rank.*event).get(), rank.stream.get()), rank.label, "cudaEventRecord");
    }
  }

  void launch_graph() {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaGraphLaunch(rank.graph.get(), rank.stream.get()), rank.label, "cudaGraphLaunch");
    }
  }

  void spoil() {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaMemsetAsync(rank.receive.get(), spoiled_byte, layout_.elements() * bytes_of(wanted_.type),
                            rank.stream.get()),
            rank.label, "cudaMemsetAsync");
    }
  }

  void fill() {
    const Expectation expected = expectation_of(wanted_, layout_, all_);
    for (const LocalRank& rank : ranks_) {
      rank.use();
      cuda::launch_fill(sending(rank), sent_elements(wanted_, layout_, rank.number), wanted_, expected, rank.number,
                        rank.stream.get());
    }
  }

  void compare() {
    const Expectation expected = expectation_of(wanted_, layout_, all_);
    for (const LocalRank& rank : ranks_) {
      rank.use();
      auto* const wrong = reinterpret_cast<unsigned long long*>(rank.wrong.get());
      check(cudaMemsetAsync(wrong, 0, sizeof(*wrong), rank.stream.get()), rank.label, "cudaMemsetAsync");
      cuda::launch_check(receiving(rank), received_elements(wanted_, layout_, rank.number), wanted_, expected,
                         rank.number, tolerance_of(wanted_, all_), wrong, rank.stream.get());
    }
  }

  /// Looks at streams and at NCCL in turn; a hang is the deadline's.
  void wait(Deadline deadline) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].use();
      for (int looks = 0;; ++looks) {
        const cudaError_t status = cudaStreamQuery(ranks_[i].stream.get());
        if (status == cudaSuccess) break;
        if (status != cudaErrorNotReady) check(status, ranks_[i].label, "the collective");
        if (looks % looks_between != 0) continue;
        ncclResult_t state = ncclSuccess;
        check_nccl(ncclCommGetAsyncError((*now_)[i], &state), "ncclCommGetAsyncError");
        check_nccl(state, "the collective");
        if (deadline.passed()) throw TimedOut(ranks_[i].label + ": the collective did not end in time");
      }
    }
  }

  /// What was forced and is not what ran would be measured under a wrong name.
  void refuse_other_choice() const {
    const std::string ran = choice(), wanted = wanted_.algorithm.data();
    if (wanted.empty() || ran.empty()) return;
    const auto same = [](char a, char b) { return std::toupper(a) == std::toupper(b); };
    const std::string word = ran.substr(0, ran.find(','));
    if (!std::equal(word.begin(), word.end(), wanted.begin(), wanted.end(), same))
      throw DeviceError("NCCL ran " + ran + " where " + wanted + " was forced");
  }

  static constexpr int looks_between = 4096;

  int all_;
  std::vector<LocalRank> ranks_;
  std::vector<ncclComm_t> base_;
  std::map<Forced, std::vector<ncclComm_t>> forced_;
  std::vector<ncclComm_t>* now_ = &base_;
  CollectiveCase wanted_;
  Layout layout_;
  int graph_repeats_ = 0;
};

}  // namespace

NcclId new_nccl_id() {
  ncclUniqueId unique{};
  check_nccl(ncclGetUniqueId(&unique), "ncclGetUniqueId");
  NcclId id{};
  static_assert(sizeof(unique) == sizeof(id));
  std::memcpy(id.data(), &unique, sizeof(unique));
  return id;
}

std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id) {
  return std::make_unique<NcclWorker>(std::move(ranks), id);
}

std::optional<std::string> nccl_refusal(const CollectiveCase& wanted) {
  if (!find(types, wanted.type)) return "this NCCL has no type " + std::string(word(wanted.type));
  if (wanted.algorithm[0] != 0 && is_made_of_sends(wanted.what))
    return std::string(word(wanted.what)) + " is made of sends, for which NCCL has no algorithm: leave out --algorithm";
  return std::nullopt;
}

std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace linkmatrix
