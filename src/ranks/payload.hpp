#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/activity.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/pattern.hpp"
#include "device/host/memory.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"
#include "ranks/mpi_transfers.hpp"

namespace linkmatrix::ranks {

/// The ranks of this process's node, as this one sees them.
struct NodeRanks {
  int number = 0;                ///< of this one among them
  std::vector<unsigned> pids{};  ///< of the run's ranks that this one may see: of its node, and of its system's others
};

/// A rank's device, beside what is exchanged.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;

  /// What the device says of itself.
  virtual DeviceState state() = 0;

  /// Adds which other processes use the device, which is called `label` there.
  virtual void poll(Activity& poll, const std::string& label) = 0;

  /// The number by which the driver lists this process on the device; 0: not known.
  virtual unsigned driver_pid() const = 0;
};

/// The memory that a rank measures, and how its bytes get to another rank's.
///
/// One source and one destination buffer. `reserve` makes them, once for a matrix; then for each cell that the rank is
/// in: `fill` and `connect` once, `transfer` for every step (warm-up, samples), and `spoil` before and `compare` after
/// a step whose data is compared. Both ranks of a pair make these calls at the same time, one as `Exchange::first`.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Lets go of what belongs to other ranks: they may free it from now on.
  virtual void forget() {}

  /// How other ranks will get at this one's memory: decides how `reserve` makes it.
  virtual void share_by(Transport) {}

  /// Makes both buffers hold `bytes`; throws BadInput where that is not to be had.
  virtual void reserve(std::uint64_t bytes) = 0;

  /// At the beginning of a cell: exchanges what the two ranks must know of each other's memory.
  virtual void connect(const Exchange&) {}

  /// A step's transfers, timed on the steady clock. Throws TimedOut and DeviceError; no wait is longer than
  /// `exchange.deadline`, and each looks at `Communicator::look` now and then.
  ///
  /// - bandwidth: `repeats` × `messages` transfers from the first rank to the other; `whole` where this rank knows it.
  /// - bidirectional: the same both ways at once; `whole` of this rank's part, and `sent` or `received` of the
  ///   directions that it can tell.
  /// - latency: `repeats` round trips, there and back, whatever the transport; `whole` of all of them at the first
  /// rank.
  ///   The value is half of a round trip. One-sided: `repeats` puts, each until it is there.
  virtual StepTimes transfer(const Exchange& exchange) = 0;

  /// Writes the pattern that the source sends.
  virtual void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;
  /// Overwrites what the destination holds, so that only a new transfer makes it right: all of it, or of host memory
  /// `most` bytes, which begin where those of the last call ended.
  virtual void poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t most) = 0;
  /// Compares what was spoiled with the pattern.
  virtual PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;

  /// Does what rank 0 asks of this kind of payload alone, in a language that only it knows. Throws as `transfer`.
  virtual std::vector<std::byte> answer(std::span<const std::byte>) {
    throw DeviceError("this rank measures no device");
  }

  /// The rank's device; nothing where it has none.
  virtual DeviceWatch* device() { return nullptr; }

  /// New buffers in place of those that messages given up may still write.
  virtual void renew() = 0;
};

/// What answers questions that are no business of this layer.
using Answerer = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Host memory of the rank, on the NUMA node that it runs on.
class HostPayload final : public Payload {
 public:
  /// answerer: empty where nothing is asked. device: of a rank that has one, whose memory is the answerer's affair.
  explicit HostPayload(Communicator& mpi, bool huge, Answerer answerer = {}, std::unique_ptr<DeviceWatch> device = {})
      : transfers_{mpi}, huge_{huge}, answerer_{std::move(answerer)}, device_{std::move(device)} {}

  void forget() override { transfers_.forget(); }
  void reserve(std::uint64_t bytes) override;
  void connect(const Exchange& exchange) override;
  StepTimes transfer(const Exchange& exchange) override;
  void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override;
  void poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t most) override;
  PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) override;
  void renew() override;
  std::vector<std::byte> answer(std::span<const std::byte> question) override {
    return answerer_ ? answerer_(question) : Payload::answer(question);
  }
  DeviceWatch* device() override { return device_.get(); }

 private:
  MpiTransfers transfers_;
  bool huge_;
  Answerer answerer_;
  std::unique_ptr<DeviceWatch> device_;
  HostMemory source_, destination_;
  HostMemory expected_;  ///< the pattern of a destination: comparing with a copy is ten times as fast as computing it
  std::uint64_t expected_seed_ = 0;
  std::uint64_t poisoned_at_ = 0, poisoned_bytes_ = 0;
  std::vector<HostMemory> given_up_;
};

}  // namespace linkmatrix::ranks
