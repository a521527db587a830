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

/// Bytes between the two places that a copy reads from in turn, a sample here and a sample there: what the sample
/// before has left at the destination is wrong for the next one. A large page, so that both places are aligned alike.
constexpr std::uint64_t source_windows = 2 * MiB;

/// One transfer between two endpoints, the unit of all work: a test case is a list of these.
struct Copy {
  int source = 0;       ///< index into Backend::endpoints()
  int destination = 0;  ///< index into Backend::endpoints()
  std::uint64_t bytes = 0;
  Operation operation = Operation::copy;
  Engine engine = Engine::ce;
  Kernel kernel = Kernel::cached;
  Direction direction = Direction::write;
  bool peer_access = true;   ///< false: staged through host memory
  std::uint64_t offset = 0;  ///< where the bytes begin in both buffers
  std::uint64_t shift = 0;   ///< bytes that the source begins further on; see source_windows
  int source_slot = 0,
      destination_slot = 0;     ///< which of an endpoint's buffers: copies that run at once have their own
  bool background = false;      ///< keeps its path busy while the others are measured, and is not itself
  int blocks = 0, threads = 0;  ///< launch shape of the sm engine; 0: the back end's own
  bool looped = false;          ///< repeated by the kernel itself, so that its launch costs nothing
  WriteFault write_fault = WriteFault::none;  ///< a drill, of a visibility test
  int repeats = 1;  ///< transfers; of a background copy at least, it goes on until the others are done

  /// What its buffers must hold.
  std::uint64_t end() const { return offset + bytes; }
  std::uint64_t source_end() const { return end() + (is_chain() ? 0 : source_windows); }
  /// Whether it is a chain of accesses rather than bytes moved.
  bool is_chain() const { return operation != Operation::copy; }
  /// Whether the other end answers.
  bool has_two_sides() const { return operation == Operation::flag || operation == Operation::visibility; }
  /// The endpoint whose engine moves the data: write pushes, read pulls.
  int initiator() const { return direction == Direction::write ? source : destination; }
};

/// Dependent accesses that a chain makes for each repeat.
constexpr int accesses_per_repeat = 64;

/// When one copy of a `run` ran.
struct CopyTime {
  Span span;                               ///< all its transfers, on the clock of the run
  double transfers = 1;                    ///< made in it: the copy's repeats; of a chain, its accesses
  double enqueue_seconds = 0;              ///< host time to hand over one transfer; 0 where there is no queue
  std::optional<Visibility> visibility{};  ///< of a visibility test

  /// Its transfers are its rounds, with that in which it was given up.
  void set_visibility(const Visibility& seen) {
    visibility = seen;
    transfers = static_cast<double>(std::max<std::uint64_t>(seen.rounds + seen.unseen_flags, 1));
  }
};

/// How the copies of a run were let go.
enum class Timing {
  gate,     ///< all at once, each timed where it runs; starts are the gate's opening
  in_turn,  ///< one host thread hands them over in turn, a transfer of each at a time, and the host's clock times them:
            ///< where the driver waits inside the call, what the host does belongs to it
};

/// When the copies of a run ran.
struct Timeline {
  std::vector<CopyTime> copies;  ///< one for each, in order
  Timing timing = Timing::gate;
  double uncertainty = 0;  ///< seconds by which the clocks of two copies may differ
};

/// Some copies of a run failed, or did not end in time; nothing is known of the others. What hangs on a device that is
/// `lost` is left to it: its memory and streams must not be touched again.
class CopiesFailed : public std::runtime_error {
 public:
  struct Failure {
    std::size_t copy;                  ///< which of the run
    CellStatus status;                 ///< error or timeout
    std::optional<int> endpoint;       ///< lost with it; nothing: only the copy failed
    LossKind loss = LossKind::device;  ///< of the endpoint
  };
  CopiesFailed(const std::string& why, std::vector<Failure> failures)
      : std::runtime_error(why), failures_{std::move(failures)} {}
  const std::vector<Failure>& failures() const { return failures_; }

 private:
  std::vector<Failure> failures_;
};

/// Where memory lies and who copies it: CUDA devices, of one process or of several, or pinned threads.
///
/// A back end brings everything up once (buffers, streams, events, peer access) and then runs
/// lists of copies. It knows nothing of matrices, test cases or statistics.
///
/// `prepare` and `verify` throw CopiesFailed too where single copies are to blame; every call throws DeviceError where
/// all is lost.
class Backend : public Machine {
 public:
  std::vector<NodeFacts> nodes() override { return {node_facts()}; }

  /// Why this copy cannot run here, one sentence; nothing if it can.
  virtual std::optional<std::string> refusal(const Copy& copy) const = 0;

  /// Numbers of what the copy occupies (engine, egress, ingress, uplink, memory controller …):
  /// two copies that share one may not run at once where a link is measured alone.
  virtual std::vector<int> resources(const Copy& copy) const = 0;

  /// Bytes that a pointer chase walks through: more than any cache that could answer in the memory's place, and on a
  /// device one large page, so that no load waits for a page table (as nvbandwidth).
  virtual std::uint64_t chase_bytes() const { return 2 * MiB; }

  /// Makes the copies' buffers, and peer access and kernels ready.
  virtual void prepare(std::span<const Copy> copies, Deadline deadline) = 0;

  /// Runs all copies at once, each as often as it says, released together; background copies go on until the others are
  /// done. Throws CopiesFailed, also where `deadline` passes.
  virtual Timeline run(std::span<const Copy> copies, Deadline deadline) = 0;

  /// Fills each source with a position-dependent pattern of `seed`, spoils the destination, copies
  /// once and compares every byte where it arrived; one answer for each copy. No two of the copies have the same
  /// buffer.
  virtual std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) = 0;

  /// Whether what single runs have brought can be compared, by the two calls below; else only `verify` compares.
  virtual bool compares_runs() const { return false; }

  /// Fills the whole source buffer of each copy with a pattern of its own, unless it holds that, and spoils the
  /// destination. No copy is a chain.
  virtual void lay_patterns(std::span<const Copy> /*copies*/, Deadline) {}

  /// Compares what the last transfer of each copy has brought, after a `run` of the same copies; one answer for each.
  virtual std::vector<PatternCheck> compare(std::span<const Copy> /*copies*/, const Portion&, Deadline) { return {}; }

  /// Keeps all devices that take part busy with products of matrices and streams through their memory; what came of the
  /// products. `flips`: an endpoint of which a bit is to be wrong, for drills. Throws TimedOut where a device does not
  /// end in time.
  virtual std::vector<Heated> heat(double, std::optional<int> /*flips*/, Deadline) { return {}; }

  /// Of host memory that takes part in copies of devices; nothing where no device could tell the difference.
  virtual std::optional<HostPages> host_pages() const { return std::nullopt; }

  /// What a reader of the values must know of how they came about, one sentence each: what is not as it was asked for,
  /// how many threads a path needed.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// Why an endpoint takes no part: no context, no memory, it hung; nothing if it does.
  virtual std::optional<std::string> lost(int) const { return std::nullopt; }
  /// Of an endpoint that is lost.
  virtual LossKind lost_kind(int) const { return LossKind::device; }
};

/// Of the pattern of an endpoint's source buffer.
constexpr std::uint64_t source_seed(int endpoint, int slot) {
  return first_seed + 1 + (static_cast<std::uint64_t>(endpoint) << 16) + static_cast<std::uint64_t>(slot);
}

/// For work that needs all devices: throws MemoryHeld or DeviceError where an endpoint is lost.
inline void refuse_lost(Backend& backend, int endpoint) {
  const auto lost = backend.lost(endpoint);
  if (!lost) return;
  const std::string& label = backend.endpoints().at(static_cast<std::size_t>(endpoint)).label;
  if (backend.lost_kind(endpoint) == LossKind::memory)
    throw MemoryHeld(label + ": " + *lost, {label}, backend.activity());
  throw DeviceError(label + ": " + *lost);
}

}  // namespace linkmatrix
