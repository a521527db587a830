#include "collective/host/mpi_worker.hpp"

#include <mpi.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "collective/expected.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {
namespace {

/// Calls `work` with a value of the C++ type of an element.
template <class Work>
auto with_type(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::f64:
      return work(double{});
    case ElementType::i8:
      return work(std::int8_t{});
    case ElementType::u8:
      return work(std::uint8_t{});
    case ElementType::i32:
      return work(std::int32_t{});
    case ElementType::u32:
      return work(std::uint32_t{});
    case ElementType::i64:
      return work(std::int64_t{});
    case ElementType::u64:
      return work(std::uint64_t{});
    default:
      return work(float{});
  }
}

MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return MPI_DOUBLE;
    case ElementType::i8:
      return MPI_INT8_T;
    case ElementType::u8:
      return MPI_UINT8_T;
    case ElementType::i32:
      return MPI_INT32_T;
    case ElementType::u32:
      return MPI_UINT32_T;
    case ElementType::i64:
      return MPI_INT64_T;
    case ElementType::u64:
      return MPI_UINT64_T;
    default:
      return MPI_FLOAT;
  }
}

MPI_Op mpi_operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::prod:
      return MPI_PROD;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    default:
      return MPI_SUM;
  }
}

class MpiWorker final : public CollectiveWorker {
 public:
  MpiWorker(ranks::Communicator& mpi, bool huge_pages) : mpi_{mpi}, huge_{huge_pages} {}

  void prepare(const CollectiveCase& wanted, Deadline) override {
    wanted_ = wanted;
    count_ = members(wanted, mpi_.size());
    layout_ = layout_of(wanted, mpi_.size());
    choose_communicator();
    reserve_here(receive_, window_bytes() * static_cast<std::uint64_t>(1 + wanted.windows), huge_);
    if (!wanted.in_place) reserve_here(send_, window_bytes(), huge_);
    fill(0, {});
    if (wanted.windows > 0) expect();
  }

  RankTimes run(const Burst& burst, Deadline deadline) override {
    RankTimes times;
    times.comparing = lay(burst);
    meet(deadline);
    const auto began = Clock::now();
    if (!takes_part(wanted_, rank())) return times;
    std::vector<double> moments{0};
    for (int sample = 0; sample < burst.samples; ++sample) {
      for (int i = 0; i < burst.repeats; ++i) once(burst.window(sample, i));
      moments.push_back(seconds_since(began));
    }
    times.add(moments);
    times.comparing += compare(burst, times);
    return times;
  }

 private:
  /// Prepares a compared burst: poisons the windows, and fills the sent data of in-place collectives. Returns the
  /// seconds.
  double lay(const Burst& burst) {
    const auto began = Clock::now();
    for (int sample = 0; burst.compares && sample < burst.samples; ++sample) {
      poison(sample + 1, burst.blocks);
      if (wanted_.in_place) fill(sample + 1, burst.blocks);
    }
    return seconds_since(began);
  }

  /// Compares the windows after a burst. Returns the seconds.
  double compare(const Burst& burst, RankTimes& times) {
    const auto began = Clock::now();
    for (int sample = 0; burst.compares && sample < burst.samples; ++sample) {
      if (burst.is_wrong(sample, rank())) poison(sample + 1, {});
      times.wrong.at(static_cast<std::size_t>(sample)) =
          with_type(wanted_.type, [&](auto zero) { return wrong_elements<decltype(zero)>(sample + 1, burst.blocks); });
    }
    return seconds_since(began);
  }

  int rank() const { return mpi_.rank(); }
  /// Returns the number of this rank among the participating ranks.
  int member() const { return member_number(wanted_, rank()); }
  bool is_root() const { return rank() == wanted_.root; }
  std::size_t bytes() const { return bytes_of(wanted_.type); }
  /// Returns the bytes from one receive buffer to the next, so that all have the same alignment.
  std::uint64_t window_bytes() const {
    return (layout_.elements() * bytes() + window_alignment - 1) / window_alignment * window_alignment;
  }
  std::byte* window(int number) const { return receive_.data() + static_cast<std::uint64_t>(number) * window_bytes(); }

  /// Selects the communicator of the participating ranks. All ranks create it together on first use. It is never freed.
  void choose_communicator() {
    communicator_ = MPI_COMM_WORLD;
    if (wanted_.excluded.empty()) return;
    const auto [known, is_new] = without_.try_emplace(wanted_.excluded, MPI_COMM_NULL);
    const int color = wanted_.excluded.has(rank()) ? MPI_UNDEFINED : 0;
    if (is_new)
      ranks::check_mpi(MPI_Comm_split(MPI_COMM_WORLD, color, rank(), &known->second), rank(), "MPI_Comm_split");
    communicator_ = known->second;
  }

  /// Waits for all ranks before the timed collectives.
  void meet(Deadline deadline) {
    MPI_Request request = MPI_REQUEST_NULL;
    ranks::check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), rank(), "MPI_Ibarrier");
    mpi_.wait_for_all(request, "not all ranks reached the collective in time", deadline);
  }

  /// Returns the send buffer. In place, it is the rank's own part of the larger buffer.
  std::byte* sending(int number) const {
    if (!wanted_.in_place) return send_.data();
    const bool part_of_received = layout_.received > layout_.sent;
    return window(number) + (part_of_received ? place_of_part(layout_, rank()) * bytes() : 0);
  }

  /// Returns the received data. In an in-place scatter, the root's part is inside its send buffer.
  std::byte* received(int number) const {
    const bool stays = wanted_.in_place && wanted_.collective == Collective::scatter && is_root();
    return window(number) + (stays ? place_of_part(layout_, rank()) * bytes() : 0);
  }

  void once(int number) {
    const MPI_Datatype type = mpi_type(wanted_.type);
    const MPI_Op op = mpi_operation(wanted_.reduction);
    const MPI_Comm all = communicator_;
    const int count = static_cast<int>(layout_.sent), part = static_cast<int>(layout_.part), root = wanted_.root;
    void* const to = window(number);
    const void* const from = wanted_.in_place ? MPI_IN_PLACE : send_.data();
    const void* const from_root = wanted_.in_place && is_root() ? MPI_IN_PLACE : sending(number);
    const auto check = [this](int status, const char* call) { ranks::check_mpi(status, rank(), call); };
    switch (wanted_.collective) {
      case Collective::all_reduce:
        return check(MPI_Allreduce(from, to, count, type, op, all), "MPI_Allreduce");
      case Collective::all_gather:
        return check(MPI_Allgather(from, part, type, to, part, type, all), "MPI_Allgather");
      case Collective::reduce_scatter:
        return check(MPI_Reduce_scatter_block(from, to, part, type, op, all), "MPI_Reduce_scatter_block");
      case Collective::broadcast:
        return check(MPI_Bcast(to, count, type, root, all), "MPI_Bcast");
      case Collective::reduce:
        return check(MPI_Reduce(from_root, to, count, type, op, root, all), "MPI_Reduce");
      case Collective::alltoall:
        return check(MPI_Alltoall(from, part, type, to, part, type, all), "MPI_Alltoall");
      case Collective::gather:
        return check(MPI_Gather(from_root, part, type, to, part, type, root, all), "MPI_Gather");
      case Collective::scatter:
        return scatter(type, number);
      case Collective::sendrecv: {
        const int next = (rank() + 1) % count_, before = (rank() + count_ - 1) % count_;
        return check(MPI_Sendrecv(from, count, type, next, 0, to, count, type, before, 0, all, MPI_STATUS_IGNORE),
                     "MPI_Sendrecv");
      }
      case Collective::send:
        break;  // excluded by mpi_refusal()
    }
  }

  void scatter(MPI_Datatype type, int number) {
    const int part = static_cast<int>(layout_.part);
    void* const to = wanted_.in_place && is_root() ? MPI_IN_PLACE : window(number);
    const void* const from = wanted_.in_place ? window(number) : send_.data();
    ranks::check_mpi(MPI_Scatter(from, part, type, to, part, type, wanted_.root, MPI_COMM_WORLD), rank(),
                     "MPI_Scatter");
  }

  void poison(int number, const ElementBlocks& blocks) {
    blocks.for_each(layout_.elements(), layout_.part, [&](std::uint64_t begin, std::uint64_t end) {
      std::fill_n(window(number) + begin * bytes(), (end - begin) * bytes(), static_cast<std::byte>(poison_byte));
    });
  }

  void fill(int number, const ElementBlocks& blocks) {
    const Expectation expected = expectation_of(wanted_, layout_, count_);
    with_type(wanted_.type, [&](auto zero) {
      using T = decltype(zero);
      T* const to = reinterpret_cast<T*>(sending(number));
      const std::uint64_t count = sent_elements(wanted_, layout_, rank());
      blocks.for_each(count, layout_.part, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) to[i] = static_cast<T>(sent_element(expected, member(), i));
      });
      return 0;
    });
  }

  /// Returns the expected data of this rank, calculated once per case.
  void expect() {
    const Expectation expected = expectation_of(wanted_, layout_, count_);
    const std::uint64_t count = received_elements(wanted_, layout_, rank());
    reserve_here(expected_, std::max<std::uint64_t>(count * bytes(), 1), huge_);
    with_type(wanted_.type, [&](auto zero) {
      using T = decltype(zero);
      T* const to = reinterpret_cast<T*>(expected_.data());
      for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<T>(expected_element(expected, member(), i));
      return 0;
    });
  }

  template <class T>
  std::uint64_t wrong_elements(int number, const ElementBlocks& blocks) const {
    const T* const from = reinterpret_cast<const T*>(received(number));
    const T* const expected = reinterpret_cast<const T*>(expected_.data());
    const std::uint64_t count = received_elements(wanted_, layout_, rank());
    std::uint64_t wrong = 0;
    blocks.for_each(count, layout_.part, [&](std::uint64_t begin, std::uint64_t end) {
      if (std::memcmp(from + begin, expected + begin, (end - begin) * sizeof(T)) == 0) return;
      for (std::uint64_t i = begin; i < end; ++i) wrong += from[i] == expected[i] ? 0 : 1;
    });
    return wrong;
  }

  static constexpr std::uint64_t window_alignment = 4096;

  ranks::Communicator& mpi_;
  bool huge_;
  CollectiveCase wanted_;
  Layout layout_;
  int count_ = 0;  ///< number of participating ranks
  MPI_Comm communicator_ = MPI_COMM_WORLD;
  std::map<RankSet, MPI_Comm> without_;  ///< communicators by excluded ranks
  HostMemory send_, receive_;            ///< receive_: contains all windows
  HostMemory expected_;
};

}  // namespace

std::optional<std::string> mpi_refusal(const CollectiveCase& wanted) {
  if (wanted.type == ElementType::f16 || wanted.type == ElementType::bf16 || wanted.type == ElementType::f8e4m3 ||
      wanted.type == ElementType::f8e5m2)
    return "MPI has no type " + std::string(word(wanted.type));
  if (wanted.collective == Collective::send)
    return "use p2p_matrix --testcase rank_to_rank_bandwidth_mpi for MPI messages between ranks";
  if (wanted.reduction == Reduction::avg && reduces(wanted.collective)) return "MPI has no reduction avg";
  if (wanted.collective == Collective::broadcast && !wanted.in_place) return "MPI broadcasts only in place";
  if (wanted.algorithm[0] != 0) return "only NCCL has a choice of algorithms";
  if (wanted.launch != Launch::queued) return "--graph and --blocking apply only to GPU collectives";
  if (wanted.bytes / bytes_of(wanted.type) > INT_MAX) return "MPI counts up to 2147483647 elements";
  return std::nullopt;
}

std::unique_ptr<CollectiveWorker> make_mpi_worker(ranks::Communicator& mpi, bool huge_pages) {
  return std::make_unique<MpiWorker>(mpi, huge_pages);
}

}  // namespace linkmatrix
