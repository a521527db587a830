#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/disturbances.hpp"
#include "core/heating.hpp"
#include "core/machine.hpp"
#include "core/pattern.hpp"
#include "core/result.hpp"
#include "core/topology.hpp"
#include "core/units.hpp"
#include "core/visibility.hpp"
#include "core/words.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix {

/// Distance in bytes of the two source positions that alternate between samples. Data that a sample failed to transfer
/// is then detected, because the destination still contains the other position's data. Equal to the size of a large
/// page, so that both positions have the same alignment.
constexpr std::uint64_t source_windows = 2 * MiB;

/// A copy between two endpoints, or a chain of accesses (Operation). A test case is a list of copies.
struct Copy {
  int source = 0;       ///< index into Backend::endpoints()
  int destination = 0;  ///< index into Backend::endpoints()
  std::uint64_t bytes = 0;
  Operation operation = Operation::copy;
  Engine engine = Engine::ce;
  Kernel kernel = Kernel::cached;
  Direction direction = Direction::write;
  bool peer_access = true;   ///< false: the driver stages the copy through host memory
  std::uint64_t offset = 0;  ///< offset of the data in both buffers
  std::uint64_t shift = 0;   ///< additional offset in the source; see source_windows
  /// Numbers of the buffers at both endpoints. Concurrent copies have different buffers.
  int source_slot = 0, destination_slot = 0;
  bool background = false;      ///< whether the copy is load: it runs until all other copies end and is not measured
  int blocks = 0, threads = 0;  ///< launch shape of engine sm; 0: default of the back end
  bool looped = false;          ///< whether one launch of the kernel makes all repeats
  WriteFault write_fault = WriteFault::none;  ///< simulated fault of a visibility test
  int repeats = 1;                            ///< number of transfers; ignored for background copies

  /// Returns the required size of the destination buffer (end) and source buffer (source_end) in bytes.
  std::uint64_t end() const { return offset + bytes; }
  std::uint64_t source_end() const { return end() + (is_chain() ? 0 : source_windows); }
  /// Returns whether the copy is a chain of dependent accesses.
  bool is_chain() const { return operation != Operation::copy; }
  /// Returns whether both endpoints execute code: the other endpoint answers.
  bool has_two_sides() const { return operation == Operation::flag || operation == Operation::visibility; }
  /// Returns the endpoint whose engine moves the data: the source for write, the destination for read.
  int initiator() const { return direction == Direction::write ? source : destination; }
};

/// Number of dependent accesses per repeat of a chain.
constexpr int accesses_per_repeat = 64;

/// Time of one copy in a `run`.
struct CopyTime {
  Span span;                               ///< time of all its transfers, on the clock of the run
  double transfers = 1;                    ///< number of transfers; for a chain, number of accesses
  double enqueue_seconds = 0;              ///< host time to enqueue one transfer, in seconds; 0: no queue
  std::optional<Visibility> visibility{};  ///< result of a visibility test

  /// Sets the result of a visibility test, and its rounds as transfers.
  void set_visibility(const Visibility& seen) {
    visibility = seen;
    transfers = static_cast<double>(std::max<std::uint64_t>(seen.rounds + seen.unseen_flags, 1));
  }
};

/// How the copies of a run were started.
enum class Timing {
  gate,     ///< all together by a gate; the devices time them
  in_turn,  ///< one transfer of each copy in turn by a host thread, whose clock times them; used if the driver waits
            ///< inside the call
};

/// Times of the copies of a run.
struct Timeline {
  std::vector<CopyTime> copies;  ///< one per copy, in order
  Timing timing = Timing::gate;
  double uncertainty = 0;  ///< maximum clock difference between two copies in seconds
};

/// Thrown if some copies of a run failed or timed out. The other copies have no result. Copies on a lost device may
/// still be running, so its memory and streams must not be used again.
class CopiesFailed : public std::runtime_error {
 public:
  struct Failure {
    std::size_t copy;                  ///< index of the copy in the run
    CellStatus status;                 ///< error or timeout
    std::optional<int> endpoint;       ///< endpoint that was lost; nothing: only the copy failed
    LossKind loss = LossKind::device;  ///< reason of the loss
  };
  CopiesFailed(const std::string& why, std::vector<Failure> failures)
      : std::runtime_error(why), failures_{std::move(failures)} {}
  const std::vector<Failure>& failures() const { return failures_; }

 private:
  std::vector<Failure> failures_;
};

/// A back end: runs copies between CUDA devices of one or several processes, or between pinned threads.
///
/// Usage: `prepare` once per test case, then `run` and comparisons of the data. A back end does not know matrices, test
/// cases or statistics. All calls come from one thread.
///
/// Calls with copies throw CopiesFailed if single copies fail. Every call throws DeviceError if nothing can be
/// measured.
class Backend : public Machine {
 public:
  std::vector<NodeFacts> nodes() override { return {node_facts()}; }

  /// Returns one sentence on why the copy cannot run here; nothing if it can.
  virtual std::optional<std::string> refusal(const Copy& copy) const = 0;

  /// Returns the numbers of the resources that the copy uses, such as a device's egress or a memory controller. The
  /// numbers are arbitrary but constant. See Sampler::resources.
  virtual std::vector<int> resources(const Copy& copy) const = 0;

  /// Returns the buffer size of a pointer chase in bytes. Default, for devices: one large page, so that no load waits
  /// for a page table (as in nvbandwidth). Host memory: larger than the caches.
  virtual std::uint64_t chase_bytes() const { return 2 * MiB; }

  /// Allocates buffers for the copies, enables peer access and loads kernels.
  virtual void prepare(std::span<const Copy> copies, Deadline deadline) = 0;

  /// Starts all copies together, each with its repeats, and waits for their end. Throws CopiesFailed, also after
  /// `deadline`.
  virtual Timeline run(std::span<const Copy> copies, Deadline deadline) = 0;

  /// Fills each source with the pattern of `seed`, poisons the destination, copies once, and compares every byte.
  /// Returns one result per copy. No two copies may share a buffer.
  virtual std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) = 0;

  /// Returns whether lay_patterns() and compare() work. Otherwise only verify() compares data.
  virtual bool compares_runs() const { return false; }

  /// Fills the source buffer of each copy with the pattern of source_seed(), unless it contains this pattern, and
  /// poisons the destination. Not for chains.
  virtual void lay_patterns(std::span<const Copy> /*copies*/, Deadline) {}

  /// Compares a portion of the data of each copy after a `run`. Returns one result per copy.
  virtual std::vector<PatternCheck> compare(std::span<const Copy> /*copies*/, const Portion&, Deadline) { return {}; }

  /// Heats all devices for some seconds with matrix products and memory copies. Returns the results per device. flips:
  /// endpoint with a simulated bit flip. Throws TimedOut if a device does not end in time.
  virtual std::vector<Heated> heat(double, std::optional<int> /*flips*/, Deadline) { return {}; }

  /// Returns the type of host memory in copies of GPUs; nothing for back ends without GPUs.
  virtual std::optional<HostPages> host_pages() const { return std::nullopt; }

  /// Returns remarks for the record, one sentence each, such as buffers on another NUMA node.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// Returns why an endpoint is lost, such as "no context"; nothing if it is available.
  virtual std::optional<std::string> lost(int) const { return std::nullopt; }
  /// Returns the reason of a lost endpoint.
  virtual LossKind lost_kind(int) const { return LossKind::device; }
};

/// Returns the pattern seed of an endpoint's source buffer with number `slot`.
constexpr std::uint64_t source_seed(int endpoint, int slot) {
  return first_seed + 1 + (static_cast<std::uint64_t>(endpoint) << 16) + static_cast<std::uint64_t>(slot);
}

/// Throws MemoryHeld or DeviceError if an endpoint is lost. Used by work that needs all devices.
inline void refuse_lost(Backend& backend, int endpoint) {
  const auto lost = backend.lost(endpoint);
  if (!lost) return;
  const std::string& label = backend.endpoints().at(static_cast<std::size_t>(endpoint)).label;
  if (backend.lost_kind(endpoint) == LossKind::memory)
    throw MemoryHeld(label + ": " + *lost, {label}, backend.activity());
  throw DeviceError(label + ": " + *lost);
}

}  // namespace linkmatrix
