#include "device/host/parts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "core/units.hpp"
#include "device/host/chains.hpp"
#include "device/host/copy_kernels.hpp"
#include "device/host/handovers.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t piece_bytes = 64 * MiB;  // bytes between two polls of the stop flag
constexpr std::uint64_t small_bytes = 4 * KiB;   // smaller transfers are too short for the clock
constexpr std::uint64_t small_batch = 1000;      // number of small transfers per repeat

bool goes_on(const HostRun& run) { return !run.stop && !run.deadline.passed(); }

void wait_for_gate(HostRun& run) {
  ++run.armed;
  while (!run.open && goes_on(run)) std::this_thread::yield();
}

bool is_background(const HostPart& part) { return part.copy.background; }

/// Waits until all background threads have started, because with few cores a thread could finish before its load
/// starts.
void wait_for_loads(std::span<HostPart> parts, bool is_load, HostRun& run) {
  if (is_load) {
    for (HostPart& part : parts) part.time.span.start = run.now();
    --run.absent;
  }
  while (run.absent > 0 && goes_on(run)) std::this_thread::yield();
}

std::byte* source_of(const HostPart& part) { return part.source->data() + part.copy.offset + part.copy.shift; }
std::byte* destination_of(const HostPart& part) { return part.destination->data() + part.copy.offset; }

/// Calls on_piece(at, bytes) for pieces of the part, until the stop flag is set. at: offset in the copy.
template <class OnPiece>
void in_pieces(const HostPart& part, std::uint64_t step, const HostRun& run, const OnPiece& on_piece) {
  const std::uint64_t end = part.share.at + part.share.bytes;
  for (std::uint64_t at = part.share.at; at < end && !run.stop; at += step) on_piece(at, std::min(step, end - at));
}

void transfer(const HostPart& part, const HostRun& run) {
  const HostCopy move = host_copy(part.copy.engine, part.copy.kernel);
  std::byte *const from = source_of(part), *const to = destination_of(part);
  if (part.copy.peer_access) {
    in_pieces(part, piece_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) { move(to + at, from + at, bytes); });
  } else {
    std::byte* const bounce = part.bounce->data();
    in_pieces(part, bounce_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) {
      move(bounce, from + at, bytes);
      move(to + at, bounce, bytes);
    });
  }
  asm volatile("" : : : "memory");  // prevents the compiler from removing repeated copies
}

void hand_over(HostPart& part, const HostRun& run) {
  const auto stop = [&run] { return !goes_on(run); };
  const HandoverPlace place = handover_place(part);
  part.end = part.writes ? write_handovers(place, part.terms, stop) : check_handovers(place, part.terms, stop);
}

void follow_chain(HostPart& part, const HostRun& run) {
  const std::uint64_t accesses = transfers_of(part.copy);
  if (part.copy.operation == Operation::chase) part.ring_at = chase(part.ring_at, accesses);
  if (part.copy.operation == Operation::atomic) add_atomically(source_of(part), accesses);
  if (part.copy.operation == Operation::flag) serve(destination_of(part), source_of(part), accesses, run.stop);
  if (part.copy.operation == Operation::visibility) hand_over(part, run);
}

/// Returns how often a part runs: once for a chain, which counts its own accesses.
std::uint64_t rounds_of(const HostPart& part) { return part.copy.is_chain() ? 1 : transfers_of(part.copy); }

void make_once(HostPart& part, const HostRun& run) {
  if (part.copy.is_chain())
    follow_chain(part, run);
  else
    transfer(part, run);
}

/// Repeats background parts until all measured parts are done.
void keep_busy(std::span<HostPart> parts, const HostRun& run) {
  while (run.measured > 0 && !run.stop)
    for (HostPart& part : parts)
      if (part.copy.background) make_once(part, run), ++part.time.transfers;
  for (HostPart& part : parts)
    if (part.copy.background) part.time.span.end = run.now();
}

constexpr std::uint32_t n = 128;  // a product takes a millisecond, the delay of a stop
constexpr std::uint64_t streamed = 4 * MiB;

}  // namespace

std::uint64_t transfers_of(const Copy& copy) {
  const auto repeats = static_cast<std::uint64_t>(copy.repeats);
  if (copy.is_chain()) return repeats * accesses_per_repeat;
  return copy.bytes <= small_bytes ? repeats * small_batch : repeats;
}

void time_parts(std::span<HostPart> parts, HostRun& run) {
  // The load starts before the loaded copies.
  std::stable_partition(parts.begin(), parts.end(), is_background);
  const bool is_load = std::all_of(parts.begin(), parts.end(), is_background);
  std::uint64_t most = 0;
  for (HostPart& part : parts) {
    most = std::max(most, rounds_of(part));
    part.time.transfers = static_cast<double>(transfers_of(part.copy));
  }
  wait_for_gate(run);
  wait_for_loads(parts, is_load, run);
  for (std::uint64_t i = 0; i < most && !run.stop; ++i)
    for (HostPart& part : parts) {
      const std::uint64_t rounds = rounds_of(part);
      if (i >= rounds) continue;
      if (i == 0 && !is_load) part.time.span.start = run.now();
      make_once(part, run);
      if (i + 1 == rounds) part.time.span.end = run.now();
    }
  if (!is_load) --run.measured;
  keep_busy(parts, run);
}

HandoverPlace handover_place(const HostPart& part) {
  const bool is_write = part.copy.direction == Direction::write;
  std::byte *const there = destination_of(part), *const here = source_of(part);
  return is_write ? HandoverPlace{there, here} : HandoverPlace{here, there};
}

void answer_part(HostPart& part, HostRun& run) {
  wait_for_gate(run);
  if (part.copy.operation == Operation::visibility) return hand_over(part, run);
  answer(destination_of(part), source_of(part), transfers_of(part.copy), run.stop);
}

void move_pattern(std::span<const HostPart> parts, std::uint64_t seed, const HostRun& run) {
  for (const HostPart& part : parts) {
    in_pieces(part, piece_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) {
      fill_pattern(source_of(part), at, bytes, seed + part.index);
      std::memset(destination_of(part) + at, poison_byte, bytes);
    });
    transfer(part, run);
  }
}

void compare_parts(std::span<HostPart> parts, std::uint64_t seed, const HostRun& run) {
  for (HostPart& part : parts)
    in_pieces(part, piece_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) {
      const PatternCheck found = check_pattern(destination_of(part), at, bytes, seed + part.index);
      if (part.check.wrong_bytes == 0) part.check.first_wrong = found.first_wrong;
      part.check.wrong_bytes += found.wrong_bytes;
    });
}

void lay_parts(std::span<const HostPart> parts, const HostRun& run) {
  for (const HostPart& part : parts) {
    const Copy& copy = part.copy;
    in_pieces(part, piece_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) {
      std::memset(destination_of(part) + at, poison_byte, bytes);
      if (part.is_patterned) return;
      const std::uint64_t first = at == 0 ? 0 : copy.offset + at;
      const std::uint64_t end = at + bytes == copy.bytes ? part.source->bytes() : copy.offset + at + bytes;
      fill_pattern(part.source->data(), first, end - first, source_seed(copy.source, copy.source_slot));
    });
  }
}

void compare_parts(std::span<HostPart> parts, const Portion& portion, const HostRun& run) {
  for (HostPart& part : parts)
    in_pieces(part, piece_bytes, run, [&](std::uint64_t at, std::uint64_t bytes) {
      const PatternCheck found =
          check_portion(destination_of(part), at, bytes, source_seed(part.copy.source, part.copy.source_slot),
                        part.copy.offset + part.copy.shift, portion);
      if (part.check.wrong_bytes == 0) part.check.first_wrong = found.first_wrong;
      part.check.wrong_bytes += found.wrong_bytes;
    });
}

void heat_until_stopped(Heated& heated, bool flip, const HostRun& run) {
  static const std::uint64_t expected = expected_checksum(n);
  const std::vector<float> a = heating_matrix(1, n), b = heating_matrix(2, n);
  std::vector<float> product;
  std::vector<std::byte> from(streamed, std::byte{1}), to(streamed);
  do {
    multiply(a, b, n, product);
    if (flip && heated.products == 0) product[7] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(product[7]) ^ 1u);
    ++heated.products;
    heated.wrong += product_checksum(product) == expected ? 0 : 1;
    std::memcpy(to.data(), from.data(), streamed);
    asm volatile("" : : "r"(to.data()) : "memory");  // prevents the compiler from removing the copy
  } while (!run.stop && !run.deadline.passed());
}

}  // namespace linkmatrix
