#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/pattern.hpp"
#include "device/host/memory.hpp"
#include "device/machine.hpp"
#include "ranks/messages.hpp"
#include "ranks/wire.hpp"

namespace linkmatrix::ranks {

/// One rank's part in a step of a match: with whom, and in which role.
struct Exchange {
  const Order& order;
  Step step;
  int other = 0;
  bool first = true;  ///< the lane's source: it sends, or begins
  Transport transport = Transport::mpi;
  bool same_node = false;
  int tag = 0;
  Deadline deadline;
};

/// The memory that a rank measures, and how its bytes get to another rank's.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Lets go of what belongs to other ranks: they may free it from now on.
  virtual void forget() {}
  /// Makes both buffers hold `bytes`; throws BadInput where that is not to be had.
  virtual void reserve(std::uint64_t bytes) = 0;
  /// At the beginning of a match: exchanges what the two ranks must know of each other's memory.
  virtual void meet(const Exchange&) {}
  /// A step's transfers, timed. Throws TimedOut and DeviceError.
  virtual Taken move(const Exchange& exchange) = 0;
  /// What is verified: the pattern in the source, the destination spoiled, and what arrived there.
  virtual void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;
  virtual void spoil(std::uint64_t bytes, std::uint64_t offset) = 0;
  virtual PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;
  /// What the device says of itself; nothing where there is none.
  virtual DeviceState state() { return {}; }
  /// New buffers in place of those that messages given up may still write.
  virtual void renew() = 0;
};

/// Messages of MPI from one address to another. Definitions of OSU's micro-benchmarks, so that figures can stand beside
/// theirs: bandwidth, a window of sends that the receiver answers with 4 bytes; both ways, a window of sends and one of
/// receives at once; latency, half of a round trip; one-sided, a window of puts and a flush. One difference: no call
/// but the flush blocks, so that a dead rank holds up nobody.
class Messages {
 public:
  explicit Messages(Wire& wire) : wire_{wire} {}

  Taken move(const Exchange& exchange, std::byte* source, std::byte* destination);

  /// Takes the destination out of the window: it may be freed from now on.
  void forget();

  /// Tells the other rank where it may put its data, and learns where it may put its own.
  void meet(const Exchange& exchange, std::byte* destination, std::uint64_t bytes);

 private:
  void window(const Exchange& exchange, std::byte* source, std::byte* destination);
  void both_ways(const Exchange& exchange, std::byte* source, std::byte* destination, Taken& taken);
  Taken put(const Exchange& exchange, const std::byte* source);
  void agree(const Exchange& exchange);
  Taken ping_pong(const Exchange& exchange, std::byte* source, std::byte* destination);

  Wire& wire_;
  std::byte* attached_ = nullptr;  ///< to the window of one-sided transfers
  MPI_Aint there_ = 0;             ///< where the other rank's destination begins
};

/// Host memory of the rank, on the NUMA node that it runs on.
class HostPayload final : public Payload {
 public:
  explicit HostPayload(Wire& wire, bool huge) : messages_{wire}, huge_{huge} {}

  void forget() override { messages_.forget(); }
  void reserve(std::uint64_t bytes) override;
  void meet(const Exchange& exchange) override;
  Taken move(const Exchange& exchange) override;
  void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override;
  void spoil(std::uint64_t bytes, std::uint64_t offset) override;
  PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override;
  void renew() override;

 private:
  Messages messages_;
  bool huge_;
  HostMemory source_, destination_;
  std::vector<HostMemory> given_up_;
};

}  // namespace linkmatrix::ranks
