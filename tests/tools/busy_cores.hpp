#pragma once

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// The modes of other_process that need no GPU.
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Ends once the seconds have passed. The first call announces that the process is in use.
class Timer {
 public:
  explicit Timer(double seconds) : seconds_{seconds} {}

  bool runs() {
    if (!announced_) {
      std::printf("ready %d\n", static_cast<int>(getpid()));
      std::fflush(stdout);
      start_ = Clock::now();
      announced_ = true;
    }
    return left() > 0;
  }
  double left() const { return seconds_ - Seconds(Clock::now() - start_).count(); }

 private:
  double seconds_;
  bool announced_ = false;
  Clock::time_point start_;
};

void pin_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw std::runtime_error("cannot run on core " + std::to_string(core));
}

void compute_until(Clock::time_point end) {
  volatile double value = 1;
  while (Clock::now() < end)
    for (int i = 0; i < 10'000; ++i) value = value * 1.0000001 + 1e-9;
}

/// As many threads as the process may use cores, each doing `work` until the end.
void on_all_cores(double seconds, const std::function<void(Clock::time_point)>& work) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) throw std::runtime_error("cannot read the cores");
  Timer timer{seconds};
  timer.runs();
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  std::vector<std::jthread> threads;
  for (int i = 0; i < CPU_COUNT(&cores); ++i) threads.emplace_back([&] { work(end); });
}

}  // namespace
