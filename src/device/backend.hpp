#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/pattern.hpp"
#include "core/topology.hpp"
#include "core/units.hpp"
#include "core/words.hpp"
#include "device/machine.hpp"

namespace linkmatrix {

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
  int source_slot = 0,
      destination_slot = 0;     ///< which of an endpoint's buffers: copies that run at once have their own
  bool background = false;      ///< keeps its path busy while the others are measured, and is not itself
  int blocks = 0, threads = 0;  ///< launch shape of the sm engine; 0: the back end's own
  bool looped = false;          ///< repeated by the kernel itself, so that its launch costs nothing

  /// What its buffers must hold.
  std::uint64_t end() const { return offset + bytes; }
  /// Whether it is a chain of accesses rather than bytes moved.
  bool is_chain() const { return operation != Operation::copy; }
  /// The endpoint whose engine moves the data: write pushes, read pulls.
  int initiator() const { return direction == Direction::write ? source : destination; }
};

/// Dependent accesses that a chain makes for each repeat.
constexpr int accesses_per_repeat = 64;

/// What one copy of a `run` took.
struct CopyTime {
  double seconds = 0;          ///< of one transfer, the mean over the repeats; for a chain, of one access
  double enqueue_seconds = 0;  ///< host time to hand over one transfer; 0 where there is no queue
  double whole_seconds = 0;    ///< of all repeats; 0 where the back end does not need it
};

/// Where memory lies and who copies it: CUDA devices, of one process or of several, or pinned threads.
///
/// A back end brings everything up once (buffers, streams, events, peer access) and then runs
/// lists of copies. It knows nothing of matrices, test cases or statistics. One process a GPU, every one
/// makes the same calls in the same order and gets the same answers.
///
/// Every call throws DeviceError where the device fails and TimedOut where the deadline passes.
class Backend : public Machine {
 public:
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

  /// Runs all copies at once, `repeats` times each, released together by one gate; background copies go on until the
  /// others are done. Returns one time for each copy, in order.
  virtual std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) = 0;

  /// Fills each source with a position-dependent pattern of `seed`, spoils the destination, copies
  /// once and compares every byte where it arrived; one answer for each copy. No two of the copies have the same
  /// buffer.
  virtual std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) = 0;

  /// True if any process says true; decisions that depend on a clock go through this.
  virtual bool any(bool here) { return here; }
};

}  // namespace linkmatrix
