#include "ranks/payload.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t answer_bytes = 4;  // as osu_bw

}  // namespace

Taken Messages::move(const Exchange& x, std::byte* source, std::byte* destination) {
  if (x.order.one_sided) return put(x, source);
  if (x.order.metric == Metric::latency) return ping_pong(x, source, destination);
  Taken taken;
  const auto start = Clock::now();
  for (int i = 0; i < x.step.repeats; ++i) {
    if (x.order.metric == Metric::bidirectional)
      both_ways(x, source, destination, taken);
    else
      window(x, source, destination);
  }
  taken.seconds = seconds_since(start);
  return taken;
}

void Messages::window(const Exchange& x, std::byte* source, std::byte* destination) {
  std::array<std::byte, answer_bytes> answer{};
  for (int m = 0; m < x.step.messages; ++m) {
    if (x.first)
      wire_.send_bytes(source, x.order.bytes, x.other, x.tag);
    else
      wire_.receive_bytes(destination, x.order.bytes, x.other, x.tag);
  }
  wire_.finish(x.deadline);
  if (x.first)
    wire_.receive_bytes(answer.data(), answer.size(), x.other, x.tag);
  else
    wire_.send_bytes(answer.data(), answer.size(), x.other, x.tag);
  wire_.finish(x.deadline);
}

/// Adds how long it took until all that comes here was here.
void Messages::both_ways(const Exchange& x, std::byte* source, std::byte* destination, Taken& taken) {
  const auto start = Clock::now();
  for (int m = 0; m < x.step.messages; ++m) wire_.receive_bytes(destination, x.order.bytes, x.other, x.tag);
  for (int m = 0; m < x.step.messages; ++m) wire_.send_bytes(source, x.order.bytes, x.other, x.tag);
  wire_.finish_receives(x.deadline);
  taken.received += seconds_since(start);
  wire_.finish(x.deadline);
}

/// Before the memory is freed, and not when another is found in its place: that may begin at the same address.
void Messages::forget() {
  if (attached_ == nullptr) return;
  check(MPI_Win_detach(wire_.window(), std::exchange(attached_, nullptr)), wire_.rank(), "MPI_Win_detach");
}

void Messages::meet(const Exchange& x, std::byte* destination, std::uint64_t bytes) {
  if (attached_ != destination) {
    forget();
    check(MPI_Win_attach(wire_.window(), destination, static_cast<MPI_Aint>(bytes)), wire_.rank(), "MPI_Win_attach");
    attached_ = destination;
  }
  MPI_Aint here = 0;
  MPI_Get_address(destination, &here);
  wire_.send_bytes(&here, sizeof(here), x.other, x.tag);
  wire_.receive_bytes(&there_, sizeof(there_), x.other, x.tag);
  wire_.finish(x.deadline);
}

/// Each waits for the other: what is verified must not arrive before its place is spoiled, nor be compared before it
/// has arrived.
void Messages::agree(const Exchange& x) {
  char mine = 0, theirs = 0;
  wire_.send_bytes(&mine, 1, x.other, x.tag);
  wire_.receive_bytes(&theirs, 1, x.other, x.tag);
  wire_.finish(x.deadline);
}

/// As osu_put_bw and osu_put_latency: a window of puts, and a flush that waits until all are there.
Taken Messages::put(const Exchange& x, const std::byte* source) {
  const bool verify = x.step.kind == Step::Kind::verify;
  if (verify) agree(x);
  Taken taken;
  if (x.first || x.order.metric == Metric::bidirectional) {
    const int bytes = static_cast<int>(x.order.bytes);
    const auto where = static_cast<MPI_Aint>(x.order.offset) + there_;
    check(MPI_Win_lock(MPI_LOCK_SHARED, x.other, 0, wire_.window()), wire_.rank(), "MPI_Win_lock");
    const auto start = Clock::now();
    for (int i = 0; i < x.step.repeats; ++i) {
      for (int m = 0; m < x.step.messages; ++m)
        check(MPI_Put(source, bytes, MPI_BYTE, x.other, where, bytes, MPI_BYTE, wire_.window()), wire_.rank(),
              "MPI_Put");
      check(MPI_Win_flush(x.other, wire_.window()), wire_.rank(), "MPI_Win_flush");
    }
    taken.seconds = taken.sent = seconds_since(start);
    check(MPI_Win_unlock(x.other, wire_.window()), wire_.rank(), "MPI_Win_unlock");
  }
  if (verify) agree(x);
  return taken;
}

/// The source sends and waits for the answer; half of its round trips' time counts. A receive is announced when
/// something is under way, so that nobody waits for it.
Taken Messages::ping_pong(const Exchange& x, std::byte* source, std::byte* destination) {
  const auto start = Clock::now();
  for (int i = 0; i < x.step.repeats; ++i) {
    if (x.first) wire_.send_soon(source, x.order.bytes, x.other, x.tag, x.deadline);
    wire_.expect(destination, x.order.bytes, x.other, x.tag);
    wire_.take(x.deadline);
    if (!x.first) wire_.send_soon(source, x.order.bytes, x.other, x.tag, x.deadline);
  }
  Taken taken;
  taken.seconds = seconds_since(start) / 2;
  return taken;
}

void HostPayload::reserve(std::uint64_t bytes) {
  reserve_here(source_, bytes, huge_);
  reserve_here(destination_, bytes, huge_);
}

void HostPayload::meet(const Exchange& x) {
  if (x.order.one_sided) messages_.meet(x, destination_.data(), destination_.bytes());
}

Taken HostPayload::move(const Exchange& exchange) {
  const std::uint64_t at = exchange.order.offset;
  return messages_.move(exchange, source_.data() + at, destination_.data() + at);
}

void HostPayload::fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) {
  fill_pattern(source_.data() + offset, 0, bytes, seed);
}

void HostPayload::spoil(std::uint64_t bytes, std::uint64_t offset) {
  std::memset(destination_.data() + offset, spoiled_byte, bytes);
}

PatternCheck HostPayload::compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) {
  return check_pattern(destination_.data() + offset, 0, bytes, seed);
}

void HostPayload::renew() {
  const std::uint64_t bytes = source_.bytes();
  given_up_.push_back(std::move(source_));
  given_up_.push_back(std::move(destination_));
  reserve(bytes);
}

}  // namespace linkmatrix::ranks
