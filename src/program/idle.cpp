#include "program/idle.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "core/disturbances.hpp"
#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr auto nap = std::chrono::milliseconds(20);  // a signal lets every deadline pass

void pause(double seconds, Deadline end) {
  const Deadline over = Deadline::in(seconds);
  while (!over.passed()) {
    if (end.passed()) throw TimedOut("the time was up while others used the machine (--wait-idle)");
    std::this_thread::sleep_for(nap);
  }
  if (end.passed()) throw TimedOut("the time was up while others used the machine (--wait-idle)");
}

}  // namespace

IdleWait wait_until_idle(const std::function<Activity()>& poll, Deadline patience, Deadline end, double apart) {
  IdleWait wait{poll(), {}, {}};
  do {
    pause(apart, end);
    Activity now = poll();
    wait.between = between(wait.last, now);
    decide_disturbances(wait.between);
    wait.last = std::move(now);
    wait.busy = sentence_of(wait.between);
  } while (wait.busy && !patience.passed());
  return wait;
}

std::string busy_sentence(const std::string& who, double waited) {
  std::string text = "others use what is to be measured: " + who;
  if (waited > 0) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%g", waited);
    text += std::string(", still after ") + seconds + " s";
  }
  return text + ": --wait-idle SECONDS waits for them, and without --refuse-busy the run measures all the same";
}

}  // namespace linkmatrix
