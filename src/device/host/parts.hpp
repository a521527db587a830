#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/heating.hpp"
#include "core/pattern.hpp"
#include "device/backend.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/team.hpp"

namespace linkmatrix {

/// State of one Backend::run, shared with its threads, which may outlive the call after a deadline.
struct HostRun {
  explicit HostRun(Deadline until) : deadline{until} {}
  /// Returns the seconds since the start.
  double now() const { return seconds_since(origin); }

  const Clock::time_point origin = Clock::now();
  const Deadline deadline;
  std::atomic<std::size_t> armed = 0;            ///< threads that wait at the gate
  std::atomic<std::size_t> measured = 0;         ///< threads with unfinished measured parts
  std::atomic<std::size_t> absent = 0;           ///< threads with only background parts that have not started
  std::atomic<bool> open = false, stop = false;  ///< the gate is open; all threads must end
};

/// The part of a copy that one thread makes.
struct HostPart {
  std::size_t index = 0;  ///< index of the copy in the run
  Copy copy;
  Share share;
  SharedMemory source, destination, bounce;  ///< bounce: intermediate buffer without peer access
  const std::byte* ring_at = nullptr;        ///< chase: start position, then end position
  CopyTime time;                             ///< result: time since HostRun::origin
  PatternCheck check;                        ///< result: comparison of the data
  bool is_patterned = false;                 ///< whether the source contains its pattern
  bool writes = true;                        ///< visibility test: whether this side writes
  HandoverTerms terms{};                     ///< visibility test: terms, equal for both sides
  HandoverEnd end{};                         ///< visibility test: result of this side
};

constexpr std::uint64_t bounce_bytes = 1 * MiB;  // intermediate buffer of a copy; fits into a private cache

/// Returns the transfers of a copy with all its repeats; for a chain, its accesses.
std::uint64_t transfers_of(const Copy& copy);

/// Runs and times the parts of one thread when the gate opens, one transfer of each in turn. Background parts continue
/// until all measured parts of the run are done.
void time_parts(std::span<HostPart> parts, HostRun& run);

/// Answers the flag or the visibility test of a part on another thread.
void answer_part(HostPart& part, HostRun& run);

/// Returns the memory of a visibility test: flag and data in the buffer that one side accesses remotely, answers in the
/// other buffer.
HandoverPlace handover_place(const HostPart& part);

/// Fills, poisons and copies the parts of one thread with the pattern of `seed`. Another thread then calls
/// compare_parts().
void move_pattern(std::span<const HostPart> parts, std::uint64_t seed, const HostRun& run);
void compare_parts(std::span<HostPart> parts, std::uint64_t seed, const HostRun& run);

/// The same for normal runs. lay_parts() fills and poisons before the first run. compare_parts() compares a portion
/// after each run.
void lay_parts(std::span<const HostPart> parts, const HostRun& run);
void compare_parts(std::span<HostPart> parts, const Portion& portion, const HostRun& run);

/// Heats this thread's core with matrix products and memory copies until the run's deadline. flip: whether to simulate
/// a bit flip in the first product.
void heat_until_stopped(Heated& heated, bool flip, const HostRun& run);

}  // namespace linkmatrix
