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

/// State that one call of `run` shares with its threads, which may outlive it after a deadline.
struct HostRun {
  explicit HostRun(Deadline until) : deadline{until} {}
  /// Returns the seconds since the start.
  double now() const { return seconds_since(origin); }

  const Clock::time_point origin = Clock::now();
  const Deadline deadline;
  std::atomic<std::size_t> armed = 0, measured = 0;  ///< threads waiting at the gate; threads that are not done
  std::atomic<std::size_t> absent = 0;               ///< threads with only load that have not started it
  std::atomic<bool> open = false, stop = false;
};

/// The part of a copy that one thread makes.
struct HostPart {
  std::size_t index = 0;  ///< index of the copy in the run
  Copy copy;
  Share share;
  SharedMemory source, destination, bounce;  ///< `bounce`: buffer of a staged copy
  const std::byte* ring_at = nullptr;        ///< chase: start position, then end position
  CopyTime time;                             ///< time, on the clock of the run
  PatternCheck check;                        ///< comparison of the data
  bool is_patterned = false;                 ///< whether the source contains its pattern
  bool writes = true;                        ///< visibility test: whether this side writes
  HandoverTerms terms{};                     ///< terms, equal for both sides
  HandoverEnd end{};                         ///< result of this side
};

constexpr std::uint64_t bounce_bytes = 1 * MiB;  // size of the buffer of a staged copy, which fits into a private cache

/// Returns the transfers of a copy between start and end; accesses for a chain.
std::uint64_t transfers_of(const Copy& copy);

/// Runs the parts of one thread when the gate opens, one transfer of each in turn. Background parts continue until all
/// measured parts are done.
void time_parts(std::span<HostPart> parts, HostRun& run);

/// Answers the flag or the visibility test of a part on another thread.
void answer_part(HostPart& part, HostRun& run);

/// Returns the memory of a visibility test: data and flag in the memory written or read remotely, answers in the other.
HandoverPlace handover_place(const HostPart& part);

/// Fills, poisons and copies the parts of one thread; another thread then compares the data.
void move_pattern(std::span<const HostPart> parts, std::uint64_t seed, const HostRun& run);
void compare_parts(std::span<HostPart> parts, std::uint64_t seed, const HostRun& run);

/// The same for normal runs: prepares the thread's share of each source and destination before the first run, and
/// compares a portion after each run.
void lay_parts(std::span<const HostPart> parts, const HostRun& run);
void compare_parts(std::span<HostPart> parts, const Portion& portion, const HostRun& run);

/// Heats this thread's core until the run's deadline with matrix products and memory streams. flip: simulates a bit
/// flip in the first product.
void heat_until_stopped(Heated& heated, bool flip, const HostRun& run);

}  // namespace linkmatrix
