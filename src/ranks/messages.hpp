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

// Messages between ranks: trivially copyable structures between programs of one build.

/// Maximum number of rank pairs per cell.
constexpr std::size_t most_pairs = 64;

/// Two ranks that exchange data.
struct RankPair {
  int source = 0, destination = 0;
  Transport transport = Transport::mpi;
};

/// Facts of a rank, sent to rank 0 at the start of the job. Texts end with a zero byte.
struct RankFacts {
  std::array<char, 64> node{};
  std::array<char, 64> boot{};      ///< boot identifier, which distinguishes two hosts with one name; empty: unknown
  std::array<char, 64> version{};   ///< version of the program; must be equal on all ranks
  std::array<char, 512> options{};  ///< options as given; must be equal on all ranks
  std::array<char, 128> network{};  ///< transports used by MPI
  std::array<char, 96> device{};    ///< label of the measured endpoint, without node
  std::array<char, 128> model{};
  std::array<char, 64> uuid{}, pci{};
  std::array<char, 128> nics{};       ///< nearest network adapters, "mlx5_0,mlx5_1"
  std::array<char, 256> complaint{};  ///< why the run cannot start with this rank; empty: it can
  std::array<char, 256> no_device{};  ///< why the rank's device does not work; fails only its cells; empty: it works
  LossKind no_device_loss = LossKind::device;
  std::uint32_t driver_pid = 0;       ///< process number of the rank in the driver's numbering; 0: unknown
  std::array<char, 256> no_fabric{};  ///< why its device has no fabric handles; empty: it has
  std::array<char, 64> domain{};      ///< NVLink domain of its device, as Nvml::domain; empty: none
  std::array<char, 64> fabric{};      ///< NVML's state of the device's fabric registration; empty: unknown
  int nvlinks = 0;                    ///< active NVLinks of its device
  double nvlink_limit = 0;            ///< net rate of these NVLinks in GB/s; 0: unknown
  bool has_descriptors = false;       ///< whether its device memory can be shared by file descriptors
  std::uint64_t available = 0;        ///< available host memory in bytes
  int numa = -1, adapters = 0;
  bool cuda_aware = false;
};

/// Stores a text, truncated to the size of the field.
template <std::size_t n>
void put(std::array<char, n>& field, const std::string& text) {
  field = {};
  text.copy(field.data(), n - 1);
}

template <std::size_t n>
std::string text_of(const std::array<char, n>& field) {
  return field.data();
}

/// Types of messages while a cell is sampled. samples: from the leader to rank 0, after its report.
enum class MessageKind : int { data, control, answer, alarm, back, samples, reply };

/// Tags of orders and questions from rank 0, and of reports to rank 0.
constexpr int order_tag = 1, report_tag = 2, question_tag = 3;

/// Returns the tag of a message that belongs to an order. Tags differ between orders, because cancelled messages may
/// still arrive.
constexpr int tag_of(int serial, MessageKind kind) { return 64 + serial % 2048 * 8 + static_cast<int>(kind); }

/// Tasks of an order. After the report of these tasks a reply follows: state (DeviceState), node (NodeFacts), traffic
/// (Traffic), poll (Activity), answer (of Payload::answer). After an order `answer`, a question of Order::bytes bytes
/// follows.
enum class Task : int { reserve, open_window, state, node, traffic, poll, sample, answer, end };

/// Properties of the messages of a matrix.
struct MessageCase {
  Metric metric = Metric::bandwidth;
  bool one_sided = false;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// Order of rank 0 to a rank.
struct Order : MessageCase {
  Task task = Task::end;
  int serial = 0;     ///< unique number of the order, part of its messages' tags
  int window = 64;    ///< number of messages in flight
  int transfers = 0;  ///< messages per pair in a sample; 0: chosen by duration
  int warmup = 1;     ///< windows or round trips before the first sample
  bool verify = true;
  StopRule stop{};
  Transport sharing = Transport::automatic;  ///< transport between devices, which determines how memory is allocated
  double time_limit = 30;                    ///< SampleRule::until, as seconds from now
  double enough_after = 30;                  ///< SampleRule::enough, as seconds from now
  bool same_node = false;                    ///< whether all ranks of the cell are on one node and share a clock
  int pairs = 0;                             ///< number of concurrent pairs; the source of the first is the leader
  std::array<RankPair, most_pairs> pair{};

  std::span<const RankPair> all_pairs() const { return std::span(pair).first(static_cast<std::size_t>(pairs)); }
};

/// Status of a report. refused: the task is impossible. clocks: the clocks of the cell's ranks disagree.
enum class ReportStatus : int { ok, timeout, error, refused, clocks };

/// Report of a rank after an order. The leader's report contains the result of the cell; its samples follow in a
/// separate message.
struct Report {
  int serial = 0;
  ReportStatus status = ReportStatus::ok;
  int samples = 0;
  int copies = 1;        ///< number of copies: pairs, times two if both directions are measured
  double bytes = 0;      ///< bytes of one transfer of all copies together; 0 for a latency
  double transfers = 1;  ///< transfers between start and end of each sample
  bool started_together = true;
  bool verified = false;  ///< whether the data was compared
  std::uint64_t reply_bytes = 0;
  bool stuck = false;  ///< whether messages were cancelled, so that MPI cannot be finalized
  std::uint64_t wrong_bytes = 0;
  std::array<char, 160> text{};  ///< error text
};

/// Next step of a cell. The leader sends it to the other ranks.
struct Step {
  enum class Kind : int { sample, stop };
  Kind kind = Kind::stop;
  int messages = 0;            ///< messages per window; 1 for a ping-pong
  int repeats = 0;             ///< number of windows or round trips
  std::uint64_t compared = 0;  ///< maximum number of compared bytes per message; 0: none
};

/// Times of a rank in a step, on the steady clock of its node.
struct StepTimes {
  Span whole{};     ///< time of the transfers; empty: the other rank of the pair has it
  Span received{};  ///< bidirectional step: until this rank had received all data
  Span sent{};      ///< bidirectional step: until the other rank had received all data; one of both may be empty
  double enqueue_seconds = 0;  ///< host time to enqueue one transfer; 0: no queue
  /// Durations of the step on this rank's clock, see ClockComparison.
  double own = 0, around = 0;
  std::uint64_t wrong_bytes = 0;
};

/// Reason that a failed rank sends to the other ranks of its cell.
using Alarm = std::array<char, 160>;

static_assert(std::is_trivially_copyable_v<RankFacts> && std::is_trivially_copyable_v<Order> &&
              std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Step> &&
              std::is_trivially_copyable_v<StepTimes>);

}  // namespace linkmatrix::ranks
