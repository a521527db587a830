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

/// Network addresses of rank 0, broadcast at the start of the job.
struct HeartbeatAddress {
  struct One {
    sockaddr_storage storage;
    socklen_t length;
  };
  std::array<std::uint64_t, 2> token{};  ///< identifier of this run, to reject packets of other programs
  std::array<One, 8> one{};              ///< one address per network
  int count = 0;                         ///< number of addresses; 0: no heartbeat is possible
};

/// Interval of the questions, and number of unanswered questions after which rank 0 counts as ended.
struct HeartbeatPace {
  double between = 5;  ///< seconds between two questions
  int silent = 8;      ///< number of questions without an answer
  int refused = 3;     ///< number of questions refused by the other node's system because the process has ended
};

/// Heartbeat that detects the end of rank 0, which MPI may not report. Without it the launcher would wait until the
/// time limit of the job.
///
/// Sends few bytes by UDP, independently of MPI, from a thread that sleeps otherwise. A rank that never gets an answer,
/// because of a firewall for example, ends nothing.
class Heartbeat {
 public:
  Heartbeat() = default;
  ~Heartbeat() { stop(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// At rank 0: answers questions until destruction. Without a socket or a thread, returns an address with count 0.
  HeartbeatAddress answer();

  /// At other ranks: asks until stopped. Calls `lost` once, on its own thread, when rank 0 has ended.
  void watch(const HeartbeatAddress& address, HeartbeatPace pace, std::function<void()> lost);

  /// Records a sign of life of rank 0 by other means.
  void heard() { unanswered_ = 0; }

  void stop();

  /// Returns the pace for a number of ranks, which limits the load of rank 0.
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
