#include "core/watchdog.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace linkmatrix {
namespace {

constexpr int patience = 600;  // ms for the run to end by itself: Open MPI kills a second after SIGTERM

/// From here on, in this thread and those that it starts, the signals wait to be read.
int take_over_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC);
}

int milliseconds_left(Deadline deadline) {
  return static_cast<int>(std::clamp(deadline.seconds_left() * 1000, 0.0, 86'400'000.0));
}

/// Why the run must end; empty: it is done.
std::string wait_for_end(Deadline deadline, int signals, int done) {
  std::array<pollfd, 2> ends{{{signals, POLLIN, 0}, {done, POLLIN, 0}}};
  while (!deadline.passed()) {
    if (::poll(ends.data(), ends.size(), std::max(1, milliseconds_left(deadline))) <= 0) continue;
    if (ends[1].revents != 0) return "";
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) continue;
    stop_signal = static_cast<int>(info.ssi_signo);
    return ::poll(&ends[1], 1, patience) > 0 ? "" : stop_reason();
  }
  return "a call into the driver or MPI did not return within --timeout";
}

}  // namespace

std::string stop_reason() {
  const int signal = stop_signal;
  return signal == 0 ? "" : std::string("ended by signal ") + ::strsignal(signal);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Watchdog::Watchdog(Deadline deadline, std::function<void(const std::string& why)> expire)
    : signals_{take_over_signals()},
      done_{::eventfd(0, EFD_CLOEXEC)},
      thread_{[this, deadline, expire = std::move(expire)] {
        const std::string why = wait_for_end(deadline, signals_.number(), done_.number());
        if (!why.empty()) expire(why);
      }} {}

Watchdog::~Watchdog() {
  const std::uint64_t one = 1;
  while (::write(done_.number(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

}  // namespace linkmatrix
