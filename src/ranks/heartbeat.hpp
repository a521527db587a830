#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/descriptor.hpp"

namespace linkmatrix::ranks {

/// Where rank 0 answers: plain data, which it sends to all others when the job begins.
struct HeartbeatAddress {
  struct One {
    sockaddr_storage storage;
    socklen_t length;
  };
  std::array<std::uint64_t, 2> token{};  ///< of this run: whatever else uses the port is not meant
  std::array<One, 8> one{};              ///< of all its networks
  int count = 0;                         ///< 0: rank 0 cannot answer, and nobody asks
};

/// How often a rank asks, and after how many questions without an answer rank 0 is gone.
struct HeartbeatPace {
  double between = 5;  ///< seconds
  int silent = 8;      ///< questions that nobody answers
  int refused = 3;     ///< questions that the other node's system refuses: the process has ended
};

/// Tells a rank that rank 0 is gone, which MPI may not: its launcher then waits until the job's time is over.
///
/// A few bytes by UDP, apart from MPI, on a thread that sleeps else. A rank that never had an answer, because nothing
/// passes between the nodes but MPI, learns nothing; nor does one that hears of rank 0 by MPI.
class Heartbeat {
 public:
  Heartbeat() = default;
  ~Heartbeat() { stop(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// At rank 0: answers from now on, until this goes. Without a socket or a thread, an address of which count is 0.
  HeartbeatAddress answer();

  /// At any other rank: asks from now on, until stopped; calls `lost` once, on its own thread.
  void watch(const HeartbeatAddress& address, HeartbeatPace pace, std::function<void()> lost);

  /// Rank 0 was heard by other means.
  void heard() { unanswered_ = 0; }

  void stop();

  /// For so many ranks: rank 0 must not be kept busy by them.
  static HeartbeatPace pace_of(int ranks);

 private:
  bool begin(std::function<void(std::stop_token)> work);
  void reply(std::stop_token stop) const;
  void ask(std::stop_token stop, HeartbeatAddress address, HeartbeatPace pace);
  bool pause(double seconds) const;

  std::unique_ptr<Descriptor> socket_, wake_;
  std::array<std::uint64_t, 2> token_{};
  std::function<void()> lost_;
  std::atomic<int> unanswered_{0};
  std::jthread thread_;
};

}  // namespace linkmatrix::ranks
