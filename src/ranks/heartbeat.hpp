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

/// Network addresses of rank 0. Rank 0 broadcasts them at the start of the job.
struct HeartbeatAddress {
  struct One {
    sockaddr_storage storage;
    socklen_t length;
  };
  std::array<std::uint64_t, 2> token{};  ///< random identifier of the run, to reject other packets
  std::array<One, 8> one{};              ///< one address per network
  int count = 0;                         ///< number of addresses; 0: no heartbeat is possible
};

/// Interval of the questions, and limits after which rank 0 has ended.
struct HeartbeatPace {
  double between = 5;  ///< seconds between two questions
  int silent = 8;      ///< maximum number of unanswered questions
  int refused = 3;     ///< maximum number of questions that rank 0's system refuses, because the process has ended
};

/// Detects the end of rank 0, which MPI may not report, so that the job does not wait until its time limit. A thread
/// sends small UDP packets, independently of MPI. A rank that never gets an answer (firewall) never reports the end.
class Heartbeat {
 public:
  Heartbeat() = default;
  ~Heartbeat() { stop(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// On rank 0: answers questions until destruction. Returns count 0 if no socket or thread is available.
  HeartbeatAddress answer();

  /// On other ranks: asks until stop(). Calls `lost` once, on its own thread, when rank 0 has ended.
  void watch(const HeartbeatAddress& address, HeartbeatPace pace, std::function<void()> lost);

  /// Records that rank 0 was heard by other means, such as an order.
  void heard() { unanswered_ = 0; }

  void stop();

  /// Returns the pace for a number of ranks. More ranks ask less often.
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
