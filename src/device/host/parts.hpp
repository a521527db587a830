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

/// What one call of `run` shares with its threads, which may outlive it when a deadline passes.
struct HostRun {
  explicit HostRun(Deadline until) : deadline{until} {}
  /// Seconds after it was made.
  double now() const { return seconds_since(origin); }

  const Clock::time_point origin = Clock::now();
  const Deadline deadline;
  std::atomic<std::size_t> armed = 0, measured = 0;  ///< threads that wait for the gate; those that are not done
  std::atomic<std::size_t> absent = 0;               ///< threads of nothing but a load that have not begun it
  std::atomic<bool> open = false, stop = false;
};

/// What one thread makes of a copy.
struct HostPart {
  std::size_t index = 0;  ///< of the copy in its run
  Copy copy;
  Share share;
  SharedMemory source, destination, bounce;  ///< `bounce`: of a staged copy
  const std::byte* ring_at = nullptr;        ///< of a chase: where it goes on, and then where it ended
  CopyTime time;                             ///< what it took, on the clock of the run
  PatternCheck check;                        ///< what arrived
  bool is_patterned = false;                 ///< its source holds its pattern already
  bool writes = true;                        ///< of a visibility test: the side whose writes are to be seen
  HandoverTerms terms{};                     ///< the same for both sides
  HandoverEnd end{};                         ///< what this side saw
};

constexpr std::uint64_t bounce_bytes = 1 * MiB;  // of a staged copy: fits a private cache

/// Transfers that a copy makes between its start and its end; of a chain, accesses.
std::uint64_t transfers_of(const Copy& copy);

/// Makes the parts of one thread at the gate's opening, a transfer of each in turn; those in the background until all
/// measured ones of the run are done.
void time_parts(std::span<HostPart> parts, HostRun& run);

/// Answers the flag of a part that another thread makes, or is the other side of its visibility test.
void answer_part(HostPart& part, HostRun& run);

/// Where the two sides of a visibility test meet: in the memory that is written from afar, or read; answers go, or are
/// read, the other way.
HandoverPlace handover_place(const HostPart& part);

/// Fills, spoils and copies the parts of one thread; then another one compares what arrived.
void move_pattern(std::span<const HostPart> parts, std::uint64_t seed, const HostRun& run);
void compare_parts(std::span<HostPart> parts, std::uint64_t seed, const HostRun& run);

/// The same of what runs bring: the thread's share of each whole source, and the destination, before the first one;
/// after each one the portion of what arrived.
void lay_parts(std::span<const HostPart> parts, const HostRun& run);
void compare_parts(std::span<HostPart> parts, const Portion& portion, const HostRun& run);

/// Heats the core of the calling thread until the run's deadline: products of matrices, and streams through memory.
/// `flip`: a bit of the first product is made wrong.
void keep_hot(Heated& heated, bool flip, const HostRun& run);

}  // namespace linkmatrix
