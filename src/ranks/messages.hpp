#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "core/statistics.hpp"
#include "core/words.hpp"

namespace linkmatrix::ranks {

/// What ranks say to each other: plain data, sent as bytes between programs of one build.

constexpr std::size_t most_lanes = 64;

/// Two ranks that exchange data.
struct Lane {
  int source = 0, destination = 0;
  Transport transport = Transport::mpi;
};

/// What a rank tells of itself when the job begins.
struct Card {
  std::array<char, 64> node{};
  std::array<char, 64> version{};   ///< of the program: all ranks must have the same
  std::array<char, 512> options{};  ///< as given: the same
  std::array<char, 128> network{};  ///< which transports MPI uses
  std::array<char, 96> device{};    ///< label of what it measures, without the node
  std::array<char, 128> model{};
  std::array<char, 64> uuid{}, pci{};
  std::array<char, 128> nics{};       ///< nearest network adapters, "mlx5_0,mlx5_1"
  std::array<char, 256> complaint{};  ///< why it cannot take part; empty: it can
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

/// Kinds of messages within a match.
enum class Talk : int { data, control, answer, alarm, back };

/// Tags of what rank 0 says to another one, and of what it answers.
constexpr int order_tag = 1, report_tag = 2, state_tag = 3;

/// The tag of a match's messages, apart from those of all matches before: one given up may still arrive.
constexpr int tag_of(int serial, Talk kind) { return 64 + serial % 2048 * 8 + static_cast<int>(kind); }

enum class Task : int { reserve, open_window, state, match, end };

/// What the conductor orders a rank to do.
struct Order {
  Task task = Task::end;
  int serial = 0;  ///< each order of a run has its own, and the messages of its match carry it
  Metric metric = Metric::bandwidth;
  bool one_sided = false;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  int window = 64;  ///< messages in flight
  int warmup = 1;   ///< windows or round trips before the first sample
  bool verify = true;
  StopRule stop{};
  double pair_timeout = 30;
  bool same_node = false;  ///< of each lane
  int lanes = 0;
  std::array<Lane, most_lanes> lane{};

  std::span<const Lane> all_lanes() const { return std::span(lane).first(static_cast<std::size_t>(lanes)); }
};

enum class Outcome : int { ok, timeout, error, refused };

/// What a rank answers when it is done; the numbers are the leader's, the first lane's source.
struct Report {
  int serial = 0;
  Outcome outcome = Outcome::ok;
  double value = 0, low = 0, high = 0;    ///< GB/s, or µs for a latency
  std::array<double, 2> one_direction{};  ///< of a bidirectional match: there, and back
  double messages_per_second = 0;
  int samples = 0;
  int window = 0;  ///< used: shorter than asked for where the network is slow
  bool converged = false;
  bool stuck = false;  ///< messages were given up: MPI cannot be left in order
  std::uint64_t wrong_bytes = 0;
  std::array<char, 160> text{};  ///< what went wrong
};

/// What the leader of a match tells the others before each of its steps.
struct Step {
  enum class Kind : int { sample, verify, stop };
  Kind kind = Kind::stop;
  int messages = 0;  ///< of a window; of a ping-pong, 1
  int repeats = 0;   ///< windows, or round trips
};

/// What the others answer after a step.
struct Taken {
  double seconds = 0;
  double received = 0;  ///< of a bidirectional step: until all that comes here was here …
  double sent = 0;      ///< … or until all that goes from here was there, whichever this rank can tell
  std::uint64_t wrong_bytes = 0;
  double stretch = 1;  ///< of the simulated fault "slow"
};

/// What a rank calls to the others of its match when it cannot go on.
using Alarm = std::array<char, 160>;

static_assert(std::is_trivially_copyable_v<Card> && std::is_trivially_copyable_v<Order> &&
              std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Step> &&
              std::is_trivially_copyable_v<Taken>);

}  // namespace linkmatrix::ranks
