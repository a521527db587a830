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

/// The ranks of this process's node.
struct NodeRanks {
  int number = 0;                ///< number of this rank on the node
  std::vector<unsigned> pids{};  ///< process numbers of the visible ranks of the run, on this node and this system
};

/// State of a rank's device.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;

  /// Returns the state of the device.
  virtual DeviceState state() = 0;

  /// Adds the other processes on the device, with this label, to a poll.
  virtual void poll(Activity& poll, const std::string& label) = 0;

  /// Returns the driver's number of this process on the device; 0: unknown.
  virtual unsigned driver_pid() const = 0;
};

/// Measured memory of a rank, and its transfer to another rank.
///
/// There are one source and one destination buffer. `reserve` allocates both once per matrix. Each cell of the rank
/// calls `fill` and `connect` once and `transfer` for every step (warm-up, samples); steps with compared data also call
/// `poison` before and `compare` after the transfer. Both ranks of a pair make these calls concurrently, one as
/// `Exchange::first`.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Releases memory of other ranks, so that these can free it.
  virtual void forget() {}

  /// Sets how other ranks access this memory, which determines how `reserve` allocates it.
  virtual void share_by(Transport) {}

  /// Allocates both buffers with at least `bytes` bytes. Throws BadInput if this is impossible.
  virtual void reserve(std::uint64_t bytes) = 0;

  /// Exchanges memory addresses with the other rank at the start of a cell.
  virtual void connect(const Exchange&) {}

  /// Makes and times the transfers of a step on the steady clock. Throws TimedOut and DeviceError. Waits end at
  /// `exchange.deadline` and call `Communicator::look` regularly.
  ///
  /// - bandwidth: `repeats` × `messages` transfers from the first rank to the other. Sets `whole` if this rank knows
  /// it.
  ///
  /// - bidirectional: the same in both directions concurrently. Sets `whole` of this rank's part, and `sent` or
  /// `received` of the directions that it knows.
  ///
  /// - latency: `repeats` round trips with any transport. The first rank sets `whole`; the value is half of a round
  /// trip. One-sided: `repeats` puts, each until completion.
  virtual StepTimes transfer(const Exchange& exchange) = 0;

  /// Fills the source with the pattern.
  virtual void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;
  /// Poisons the destination, so that only a new transfer can restore the pattern: the whole buffer, or for host memory
  /// at most `most` bytes, after those of the previous call.
  virtual void poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t most) = 0;
  /// Compares the poisoned part with the pattern.
  virtual PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;

  /// Answers a question of rank 0 that only this type of payload understands. Throws as `transfer`.
  virtual std::vector<std::byte> answer(std::span<const std::byte>) {
    throw DeviceError("this rank measures no device");
  }

  /// Returns the rank's device; null without a device.
  virtual DeviceWatch* device() { return nullptr; }

  /// Replaces the buffers that cancelled messages may still write.
  virtual void renew() = 0;
};

/// Answers questions for higher layers.
using Answerer = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Host memory of the rank, on its NUMA node.
class HostPayload final : public Payload {
 public:
  /// answerer: answers questions; may be empty. device: the rank's device if the answerer uses its memory.
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
  HostMemory expected_;  ///< pattern of a destination; comparing is ten times as fast as computing it
  std::uint64_t expected_seed_ = 0;
  std::uint64_t poisoned_at_ = 0, poisoned_bytes_ = 0;
  std::vector<HostMemory> given_up_;
};

}  // namespace linkmatrix::ranks
