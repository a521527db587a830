#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "core/clock.hpp"
#include "core/statistics.hpp"
#include "core/words.hpp"

namespace linkmatrix::ranks {

/// What ranks say to each other: plain data, sent as bytes between programs of one build.

constexpr std::size_t most_pairs = 64;

/// Two ranks that exchange data.
struct RankPair {
  int source = 0, destination = 0;
  Transport transport = Transport::mpi;
};

/// What a rank tells of itself when the job begins.
struct RankFacts {
  std::array<char, 64> node{};
  std::array<char, 64> boot{};      ///< of the node's system: two hosts of one name differ in it; empty: unknown
  std::array<char, 64> version{};   ///< of the program: all ranks must have the same
  std::array<char, 512> options{};  ///< as given: the same
  std::array<char, 128> network{};  ///< which transports MPI uses
  std::array<char, 96> device{};    ///< label of what it measures, without the node
  std::array<char, 128> model{};
  std::array<char, 64> uuid{}, pci{};
  std::array<char, 128> nics{};       ///< nearest network adapters, "mlx5_0,mlx5_1"
  std::array<char, 256> complaint{};  ///< why it cannot take part; empty: it can
  std::array<char, 256> no_device{};  ///< why its device does not work, which costs its cells and no others
  LossKind no_device_loss = LossKind::device;
  std::uint32_t driver_pid = 0;       ///< of the rank on its device, as the driver numbers processes; 0: not known
  std::array<char, 256> no_fabric{};  ///< why its device has no fabric handles; empty: it has
  bool has_descriptors = false;       ///< its device's memory can be shared by file descriptors
  std::uint64_t available = 0;        ///< bytes of host memory
  int numa = -1, adapters = 0;
  bool cuda_aware = false;
};

template <std::size_t n>
void put(std::array<char, n>& field, const std::string& text) {
  field = {};
  text.copy(field.data(), n - 1);
}

template <std::size_t n>
std::string text_of(const std::array<char, n>& field) {
  return field.data();
}

/// Kinds of messages while a cell is sampled; `samples` is the leader's to rank 0, after its report.
enum class MessageKind : int { data, control, answer, alarm, back, samples, reply };

/// Tags of what rank 0 says to another one, and of what it answers.
constexpr int order_tag = 1, report_tag = 2, question_tag = 3;

/// The tag of an order's messages, apart from those of all orders before: one given up may still arrive.
constexpr int tag_of(int serial, MessageKind kind) { return 64 + serial % 2048 * 8 + static_cast<int>(kind); }

/// A reply follows the report of `state` (a DeviceState), `node` (NodeFacts), `traffic` (Traffic), `poll` (an Activity)
/// and `answer`. A question of `Order::bytes` bytes, which only the payload understands, follows `answer`.
enum class Task : int { reserve, open_window, state, node, traffic, poll, sample, answer, end };

/// What the messages of a matrix are.
struct MessageCase {
  Metric metric = Metric::bandwidth;
  bool one_sided = false;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// What rank 0 orders a rank to do.
struct Order : MessageCase {
  Task task = Task::end;
  int serial = 0;     ///< each order of a run has its own, and the messages of its cell carry it
  int window = 64;    ///< messages in flight
  int transfers = 0;  ///< messages of each pair in a sample; 0: as many as make it long enough
  int warmup = 1;     ///< windows or round trips before the first sample
  bool verify = true;
  StopRule stop{};
  Transport sharing = Transport::automatic;  ///< how ranks get at each other's memory, which decides how it is made
  double time_limit = 30;                    ///< seconds; a cell that is not done by then has timed out
  double enough_after = 30;                  ///< seconds, from which on a cell that has a sample gets no other
  bool same_node = false;                    ///< all its ranks are on one, and so share a clock
  int pairs = 0;                             ///< of the cell, all at once; the first one's source leads
  std::array<RankPair, most_pairs> pair{};

  std::span<const RankPair> all_pairs() const { return std::span(pair).first(static_cast<std::size_t>(pairs)); }
};

/// clocks: the clocks of the cell's ranks disagree.
enum class ReportStatus : int { ok, timeout, error, refused, clocks };

/// What a rank answers when it is done. What was measured is the leader's: as many samples follow in a message of their
/// own (MessageKind::samples).
struct Report {
  int serial = 0;
  ReportStatus status = ReportStatus::ok;
  int samples = 0;
  int copies = 1;        ///< pairs, and both ways of each where both are measured
  double bytes = 0;      ///< of one transfer of all of them together; 0 for a latency
  double transfers = 1;  ///< between the start and the end of each sample
  bool started_together = true;
  bool verified = false;  ///< the data was compared
  std::uint64_t reply_bytes = 0;
  bool stuck = false;  ///< messages were given up: MPI cannot be left in order
  std::uint64_t wrong_bytes = 0;
  std::array<char, 160> text{};  ///< what went wrong
};

/// What the leader of a cell tells the others before each of its steps.
struct Step {
  enum class Kind : int { sample, stop };
  Kind kind = Kind::stop;
  int messages = 0;            ///< of a window; of a ping-pong, 1
  int repeats = 0;             ///< windows, or round trips
  std::uint64_t compared = 0;  ///< bytes of a message that are compared afterwards, at most; 0: none
};

/// When a rank's part of a step was, on the steady clock of its node, which all processes there share.
struct StepTimes {
  Span whole{};                ///< of its part; empty: the other rank of the pair knows it
  Span received{};             ///< of a bidirectional step: until all that comes here was here …
  Span sent{};                 ///< … or until all that goes from here was there, whichever this rank can tell; exact
  double enqueue_seconds = 0;  ///< host time to hand over one transfer; 0: there is no queue
  /// Seconds of the whole step by this rank's clock, for ClockComparison. `own`: the other rank counts more in
  /// `around`.
  double own = 0, around = 0;
  std::uint64_t wrong_bytes = 0;
};

/// What a rank calls to the others of its cell when it cannot go on.
using Alarm = std::array<char, 160>;

static_assert(std::is_trivially_copyable_v<RankFacts> && std::is_trivially_copyable_v<Order> &&
              std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Step> &&
              std::is_trivially_copyable_v<StepTimes>);

}  // namespace linkmatrix::ranks
