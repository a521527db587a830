#include "device/mpi/mpi_backend.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "device/host/host_facts.hpp"
#include "device/host/memory.hpp"
#include "device/mpi/communicator.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t message_bytes = 1 * MiB;  // of one message: large enough for every protocol's plateau
constexpr std::size_t window = 64;                // messages in flight, as the OSU bandwidth test
constexpr double startup_seconds = 60;            // until all ranks are there
constexpr int data_tag = 1, end_tag = 2, ping_tag = 3;

class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    const std::vector<std::string> nodes =
        ranks_.gather_texts(host_facts().name, "the names of all nodes", Deadline::in(startup_seconds));
    const std::size_t n = nodes.size();
    topology_ = {Matrix<std::string>(n, n, "X"), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n),
                 Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
    for (std::size_t r = 0; r < n; ++r) {
      Endpoint endpoint;
      endpoint.index = static_cast<int>(r);
      endpoint.label = "rank" + std::to_string(r);
      endpoint.name = "rank " + std::to_string(r) + " on " + nodes[r];
      endpoint.node = nodes[r];
      endpoints_.push_back(std::move(endpoint));
      topology_.min_path(r, r) = 0;
      for (std::size_t c = 0; c < n; ++c)
        if (r != c) topology_.link_class(r, c) = nodes[r] == nodes[c] ? "NODE" : "NET";
    }
    software_ = {{"MPI", mpi_library()}, {"compiler", compiler_version()}, {"kernel", kernel_release()}};
  }

  std::string name() const override { return "mpi"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  bool is_root() const override { return me() == 0; }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine != Engine::mpi) return "ranks exchange messages: the test cases named rank_to_rank_* do";
    return std::nullopt;
  }

  std::vector<int> resources(const Copy& copy) const override { return {copy.source, copy.destination}; }

  void prepare(std::span<const Copy> copies, Deadline deadline) override {
    bool sends = false, receives = false;
    std::uint64_t bytes = 0;
    for (const Copy& copy : copies) {
      bytes = std::max(bytes, copy.end());
      sends = sends || copy.source == me() || copy.operation == Operation::chase;
      receives = receives || copy.destination == me() || copy.operation == Operation::chase;
    }
    std::string refused = shortage(
        (sends && source_.bytes() < bytes ? bytes : 0) + (receives && destination_.bytes() < bytes ? bytes : 0),
        deadline);
    try {
      if (refused.empty() && sends) reserve_here(source_, bytes);
      if (refused.empty() && receives) reserve_here(destination_, bytes);
    } catch (const BadInput& e) {
      refused = e.what();
    }
    // A rank that cannot go on must not leave the others waiting.
    std::vector<int> failed{refused.empty() ? 0 : 1};
    ranks_.reduce(failed, MPI_INT, MPI_LOR, "the buffers of all ranks", deadline);
    if (!refused.empty()) throw BadInput(refused);
    if (failed.front() != 0) throw BadInput("--size: a rank has not enough host memory: use a smaller --size");
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    std::vector<double> seconds(copies.size(), 0);
    ranks_.barrier(deadline);
    const auto start = Clock::now();
    if (std::any_of(copies.begin(), copies.end(), [](const Copy& c) { return c.operation == Operation::chase; }))
      ping_pong(copies, repeats, seconds, deadline);
    else
      stream(copies, repeats, start, seconds, deadline);
    // The longer of both ends: the sender's, which waits for the receiver's word that all is there.
    return share(seconds, repeats, deadline);
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      if (copies[k].source == me()) fill_pattern(source_.data() + copies[k].offset, 0, copies[k].bytes, seed + k);
      if (copies[k].destination == me())
        std::memset(destination_.data() + copies[k].offset, spoiled_byte, copies[k].bytes);
    }
    ranks_.barrier(deadline);
    std::vector<double> ignored(copies.size(), 0);
    stream(copies, 1, Clock::now(), ignored, deadline);
    std::vector<unsigned long long> found(2 * copies.size(), 0);
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].destination == me()) {
        const PatternCheck check = check_pattern(destination_.data() + copies[k].offset, 0, copies[k].bytes, seed + k);
        found[2 * k] = check.wrong_bytes;
        found[2 * k + 1] = check.first_wrong;
      }
    ranks_.reduce(found, MPI_UNSIGNED_LONG_LONG, MPI_SUM, "the comparison of what arrived", deadline);
    std::vector<PatternCheck> checks;
    for (std::size_t k = 0; k < copies.size(); ++k) checks.push_back({found[2 * k], found[2 * k + 1]});
    return checks;
  }

  bool any(bool here) override { return ranks_.any(here); }

 private:
  int me() const { return ranks_.rank(); }

  /// Why the memory that the ranks of this node still need is not there; empty if it is. Each rank alone would find
  /// enough, and all of them together would end in the kernel's hunt for memory.
  std::string shortage(std::uint64_t bytes, Deadline deadline) {
    const std::uint64_t available = available_memory();  // before the first rank touches any of it
    std::vector<std::uint64_t> needs(endpoints_.size(), 0);
    needs[static_cast<std::size_t>(me())] = bytes;
    ranks_.reduce(needs, MPI_UINT64_T, MPI_SUM, "the memory needs of all ranks", deadline);
    const std::string& here = endpoints_[static_cast<std::size_t>(me())].node;
    std::uint64_t needed = 0;
    for (std::size_t r = 0; r < needs.size(); ++r)
      if (endpoints_[r].node == here) needed += needs[r];
    if (needed <= available) return "";
    return "--size needs " + format_size(needed) + " of host memory for the ranks on " + here + ", where " +
           std::to_string(available / MiB) + " MiB are available: use a smaller --size or fewer ranks a node";
  }

  void wait_and_clear(std::vector<MPI_Request>& requests, const std::string& what, Deadline deadline) {
    ranks_.wait(requests, what, deadline);
    requests.clear();
  }

  /// The copies that begin or end here: "rank0->rank1, rank1->rank0".
  std::string own(std::span<const Copy> copies) const {
    std::string text;
    for (const Copy& copy : copies)
      if (copy.source == me() || copy.destination == me())
        text += (text.empty() ? "rank" : ", rank") + std::to_string(copy.source) + "->rank" +
                std::to_string(copy.destination);
    return text;
  }

  /// Every copy's messages, in windows; at the end the destination tells the source that all has arrived.
  void stream(std::span<const Copy> copies, int repeats, Clock::time_point start, std::vector<double>& seconds,
              Deadline deadline) {
    std::vector<MPI_Request> requests;
    const std::string here = own(copies);
    const auto post = [&](const Copy& copy, std::uint64_t at) {
      if (at >= copy.bytes) return;
      const int bytes = static_cast<int>(std::min(message_bytes, copy.bytes - at));
      if (copy.source == me())
        check(MPI_Isend(source_.data() + copy.offset + at, bytes, MPI_BYTE, copy.destination, data_tag, MPI_COMM_WORLD,
                        &requests.emplace_back()),
              me(), "MPI_Isend");
      if (copy.destination == me())
        check(MPI_Irecv(destination_.data() + copy.offset + at, bytes, MPI_BYTE, copy.source, data_tag, MPI_COMM_WORLD,
                        &requests.emplace_back()),
              me(), "MPI_Irecv");
    };
    std::uint64_t bytes = 0;
    for (const Copy& copy : copies) bytes = std::max(bytes, copy.bytes);
    for (int i = 0; i < repeats; ++i)
      for (std::uint64_t at = 0; at < bytes; at += message_bytes) {
        for (const Copy& copy : copies) post(copy, at);
        if (requests.size() >= window) wait_and_clear(requests, here, deadline);
      }
    wait_and_clear(requests, here, deadline);
    char word = 0;
    for (const Copy& copy : copies) {
      if (copy.destination == me())
        check(MPI_Isend(&word, 1, MPI_CHAR, copy.source, end_tag, MPI_COMM_WORLD, &requests.emplace_back()), me(),
              "MPI_Isend");
      if (copy.source == me())
        check(MPI_Irecv(&word, 1, MPI_CHAR, copy.destination, end_tag, MPI_COMM_WORLD, &requests.emplace_back()), me(),
              "MPI_Irecv");
    }
    wait_and_clear(requests, here + ": the word that all arrived", deadline);
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].source == me() || copies[k].destination == me()) seconds[k] = seconds_since(start);
  }

  /// Each copy's source sends and waits for the answer; the source's half of the round trip counts.
  void ping_pong(std::span<const Copy> copies, int repeats, std::vector<double>& seconds, Deadline deadline) {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const Copy& copy = copies[k];
      if (copy.source != me() && copy.destination != me()) continue;
      const bool first = copy.source == me();
      const int other = first ? copy.destination : copy.source;
      const int bytes = static_cast<int>(copy.bytes);
      const std::string here = own(std::span(&copy, 1));
      const auto start = Clock::now();
      for (int i = 0; i < 2 * repeats; ++i) {
        std::array<MPI_Request, 1> request{};
        const bool send = (i % 2 == 0) == first;
        check(send ? MPI_Isend(source_.data(), bytes, MPI_BYTE, other, ping_tag, MPI_COMM_WORLD, request.data())
                   : MPI_Irecv(destination_.data(), bytes, MPI_BYTE, other, ping_tag, MPI_COMM_WORLD, request.data()),
              me(), "ping-pong");
        ranks_.wait(request, here, deadline);
      }
      if (first) seconds[k] = seconds_since(start) / 2;
    }
  }

  /// The largest of all ranks' times of each copy, a transfer each; the same on every rank.
  std::vector<CopyTime> share(std::vector<double>& seconds, int repeats, Deadline deadline) {
    ranks_.reduce(seconds, MPI_DOUBLE, MPI_MAX, "the times of all ranks", deadline);
    std::vector<CopyTime> times;
    for (const double s : seconds) times.push_back({s / repeats, 0});
    return times;
  }

  Communicator ranks_;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  HostMemory source_, destination_;
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend() { return std::make_unique<MpiBackend>(); }

}  // namespace linkmatrix
