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
  std::vector<unsigned> pids{};  ///< process numbers of the run's ranks on this system
};

/// Reads the state and the other processes of a rank's device.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;

  /// Returns the state of the device.
  virtual DeviceState state() = 0;

  /// Adds the other processes on the device to a poll. label: label of the device in the poll.
  virtual void poll(Activity& poll, const std::string& label) = 0;

  /// Returns the driver's number of this process on the device; 0: unknown.
  virtual unsigned driver_pid() const = 0;
};

/// The measured memory of a rank (one source and one destination buffer), and its transfer to another rank.
///
/// Order of calls: reserve() once per matrix; fill() and connect() once per cell; transfer() for every step. Steps with
/// compared data also call poison() before and compare() after the transfer. Both ranks of a pair make these calls
/// concurrently, one of them as Exchange::first.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Releases mapped memory of other ranks, so that they can free it.
  virtual void forget() {}

  /// Sets the transport by which other ranks access this memory, before reserve().
  virtual void share_by(Transport) {}

  /// Allocates both buffers with at least `bytes` bytes. Throws BadInput if this is impossible.
  virtual void reserve(std::uint64_t bytes) = 0;

  /// Exchanges addresses or handles with the other rank at the start of a cell.
  virtual void connect(const Exchange&) {}

  /// Makes the transfers of a step and times them on the steady clock. Waits call Communicator::check_wait() regularly.
  /// Throws TimedOut after exchange.deadline, and DeviceError.
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

  /// Fills the source buffer with the pattern of `seed`.
  virtual void fill(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;
  /// Poisons the destination, so that only a new transfer makes it correct. Host memory: at most `most` bytes, after
  /// the bytes of the previous call. Device memory: the whole buffer.
  virtual void poison(std::uint64_t bytes, std::uint64_t offset, std::uint64_t most) = 0;
  /// Compares the poisoned part with the pattern.
  virtual PatternCheck compare(std::uint64_t bytes, std::uint64_t offset, std::uint64_t seed) = 0;

  /// Answers a question of rank 0, in a format that only this type of payload knows. Throws as transfer().
  virtual std::vector<std::byte> answer(std::span<const std::byte>) {
    throw DeviceError("this rank measures no device");
  }

  /// Returns the rank's device; null without a device.
  virtual DeviceWatch* device() { return nullptr; }

  /// Replaces the buffers, because cancelled messages may still write the old ones.
  virtual void renew() = 0;
};

/// Answers a question of rank 0 (Payload::answer).
using Answerer = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Host memory on the rank's NUMA node.
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
  HostMemory expected_;  ///< expected data, stored because computing the pattern takes ten times as long as comparing
  std::uint64_t expected_seed_ = 0;
  std::uint64_t poisoned_at_ = 0, poisoned_bytes_ = 0;
  std::vector<HostMemory> given_up_;
};

}  // namespace linkmatrix::ranks
