#include "run/signals.hpp"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

/// When a signal keeps its disposition.
enum class Left {
  never,
  ignored,  ///< by the parent process
  handled,  ///< ignored by the parent process, or handled by a library before `main` (timer of a profiler)
};

struct EndSignal {
  int number;
  Left left;
};

/// Signals that end a process by default, except SIGKILL and program errors such as SIGSEGV.
constexpr std::array end_signals{
    EndSignal{SIGTERM, Left::ignored},   EndSignal{SIGINT, Left::never},    EndSignal{SIGQUIT, Left::never},
    EndSignal{SIGHUP, Left::ignored},    EndSignal{SIGUSR1, Left::ignored}, EndSignal{SIGUSR2, Left::ignored},
    EndSignal{SIGXCPU, Left::ignored},   EndSignal{SIGPWR, Left::ignored},  EndSignal{SIGALRM, Left::handled},
    EndSignal{SIGVTALRM, Left::handled}, EndSignal{SIGPROF, Left::handled}, EndSignal{SIGIO, Left::handled}};

/// Argument of the system call rt_sigaction.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

/// Bit n: whether signal n was ignored at the start.
std::uint64_t ignored_at_start = 0;

/// Reads the inherited dispositions before constructors of libraries change them: UCX handles SIGHUP, also under nohup.
/// Uses the system call, because wrappers of sanitizers are not yet initialized.
[[gnu::no_sanitize("address", "thread", "undefined")]] void note_ignored_signals() {
  for (const EndSignal& signal : end_signals) {
    KernelAction now{};
    ::syscall(SYS_rt_sigaction, signal.number, nullptr, &now, sizeof now.mask);
    if (now.handler == SIG_IGN) ignored_at_start |= std::uint64_t{1} << signal.number;
  }
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_constructors)() = note_ignored_signals;

bool was_ignored(int signal) { return (ignored_at_start >> signal & 1) != 0; }

bool is_handled(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

int take_over(sigset_t& before) {
  for (const int harmless : {SIGPIPE, SIGXFSZ}) std::signal(harmless, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const EndSignal& signal : end_signals) {
    if (signal.left == Left::handled && is_handled(signal.number)) continue;
    if (signal.left == Left::never || !was_ignored(signal.number))
      sigaddset(&set, signal.number);
    else
      std::signal(signal.number, SIG_IGN);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  const int waiting = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (waiting < 0) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw BadInput("the system refuses a further open file: raise `ulimit -n`");
  }
  return waiting;
}

}  // namespace

Signals::Signals() : waiting_{take_over(before_)} {}

Signals::~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int Signals::next() const {
  signalfd_siginfo info{};
  return ::read(waiting_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void open_missing_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0)  // open() uses the lowest free number
      (void)!::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace linkmatrix
