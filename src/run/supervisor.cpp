#include "run/supervisor.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "core/error.hpp"
#include "core/limited_call.hpp"
#include "core/table.hpp"

namespace linkmatrix {
namespace {

using Seconds = SupervisorSetup::Seconds;

constexpr Seconds poll_again{0.05};     // between polls of signals and deadline while an attempt runs
constexpr Seconds poll_interval{0.2};   // between polls of a record that has not changed
constexpr Seconds old_checkpoint{0.3};  // for a running checkpoint when the run ends
constexpr Seconds for_leftovers{0.3};   // to remove temporary files, whose file system may hang
constexpr double longest_wait = 1;      // maximum delay in seconds to notice a new LimitedCall

Clock::time_point in(Seconds time) { return Clock::now() + std::chrono::duration_cast<Clock::duration>(time); }

std::shared_ptr<Descriptor> make_wake() {
  auto wake = std::make_shared<Descriptor>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake->is_open()) throw BadInput("the system refuses a further open file: raise `ulimit -n`");
  return wake;
}

/// Ends a wait of the supervisor's thread.
void notify(const Descriptor& wake) {
  const std::uint64_t one = 1;
  while (::write(wake.number(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

}  // namespace

Supervisor::Supervisor(SupervisorSetup setup)
    : setup_{std::move(setup)},
      wake_{make_wake()},
      output_{setup_.output},
      keeper_{record_, start_, setup_.between_checkpoints, setup_.write},
      thread_{[this] { watch(); }} {}

Supervisor::~Supervisor() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake();
  thread_.join();
  if (keeper_.checkpoint()) keeper_.checkpoint()->wait(setup_.recording);
}

void Supervisor::end_by(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    deadline_ = deadline.at();
  }
  wake();
}

void Supervisor::write_to(const std::optional<std::filesystem::path>& file, std::size_t max_display) {
  if (file) keeper_.keep_in(*file);
  max_display_ = max_display;
  writes_ = true;
  wake();
}

void Supervisor::print(const MatrixResult& result) {
  ++printed_;
  std::ostringstream text;
  print_result(text, result, max_display_);
  print(text.str());
}

ExitCode Supervisor::end(Ending ending) {
  post({std::move(ending), false});
  std::unique_lock lock(mutex_);
  decided_.wait(lock, [this] { return code_.has_value(); });
  return *code_;
}

void Supervisor::break_off(Ending ending) {
  if (std::this_thread::get_id() == thread_.get_id()) give_up();
  post({std::move(ending), true});
  for (;;) ::pause();
}

void Supervisor::post(Request request) {
  {
    const std::lock_guard lock(mutex_);
    request_ = std::move(request);
  }
  wake();
}

void Supervisor::wake() const { notify(*wake_); }

void Supervisor::watch() {
  try {
    while (watch_once()) wait();
  } catch (const std::exception& e) {
    end_after(e);
  }
}

/// Ends the run after an exception in the supervisor's thread, such as too little memory. The reserved memory may
/// suffice for the record; otherwise the last checkpoint remains.
void Supervisor::end_after(const std::exception& failure) {
  try {
    std::optional<ExitCode> code;
    {
      const std::lock_guard lock(mutex_);
      code = code_;
    }
    if (code) return setup_.exit(static_cast<int>(*code));
    Ending ending = ending_of(failure);
    write_record(ending, setup_.rescue, true);
    print_last_lines(ending, in(setup_.saying), true);
    setup_.exit(static_cast<int>(ending.code));
  } catch (const std::exception&) {
    give_up();
  }
}

/// Ends the process with a message that needs no memory.
void Supervisor::give_up() const {
  const std::string_view sentence = ": out of memory: the supervisor failed, so the run ends\n";
  write_until(setup_.errors, setup_.program, in(setup_.saying));
  write_until(setup_.errors, sentence, in(setup_.saying));
  setup_.exit(static_cast<int>(ExitCode::device_error));
}

/// Returns whether to continue.
bool Supervisor::watch_once() {
  take_signals();
  std::optional<Request> request;
  std::optional<ExitCode> code;
  {
    const std::lock_guard lock(mutex_);
    if (quit_) return false;
    request = std::exchange(request_, std::nullopt);
    code = code_;
  }
  if (code && is_over()) return setup_.exit(static_cast<int>(*code)), false;
  if (code) return true;
  if (request) return conclude(*request);
  if (is_over()) return force(), false;
  if (const auto why = no_room()) return conclude({refused(*why), true});
  // a checkpoint that hangs may outlive this object
  keeper_.checkpoint_if_due([alive = wake_] { notify(*alive); });
  return true;
}

void Supervisor::wait() const {
  std::array<pollfd, 2> ends{{{signals_.number(), POLLIN, 0}, {wake_->number(), POLLIN, 0}}};
  Moment until = end_at();
  if (keeper_.has_file()) until = std::min(until, std::max(keeper_.next_checkpoint(), in(poll_interval)));
  const double left = std::chrono::duration<double>(until - Clock::now()).count();
  ::poll(ends.data(), ends.size(), static_cast<int>(std::clamp(left, 0.0, longest_wait) * 1000) + 1);
  std::uint64_t count = 0;
  (void)!::read(wake_->number(), &count, sizeof count);
}

void Supervisor::take_signals() {
  for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
    if (stop_signal == 0) stop_signal = signal;
    patience_over_ = std::min(patience_over_, in(serves_ ? setup_.patience_of_server : setup_.patience));
  }
}

Supervisor::Moment Supervisor::end_at() const {
  const std::lock_guard lock(mutex_);
  return std::min({deadline_, patience_over_, LimitedCall::limit().over});
}

Ending Supervisor::why_over() const {
  const std::string signal = stop_reason();
  if (!signal.empty()) return late(signal);
  if (const auto call = LimitedCall::limit(); Clock::now() >= call.over)
    return late("a call into " + std::string(call.library) +
                " did not return in time: another rank has ended or hangs");
  return late(output_.is_waiting() ? "standard output was not read before --timeout passed"
                                   : "a call into the driver or MPI did not return within --timeout");
}

/// Returns why no further results can be written; nothing if they can. The run then ends to keep the results so far.
std::optional<std::string> Supervisor::no_room() const {
  if (!writes_) return std::nullopt;
  if (const auto why = keeper_.disk_full_text()) return why;
  return output_.is_disk_full() ? output_.failure() : std::nullopt;
}

/// Ends the run as requested. Returns true if the process continues until main returns.
bool Supervisor::conclude(const Request& request) {
  Ending ending = request.ending;
  if (const auto why = output_.failure(); why && ending.code == ExitCode::measured) ending = refused(*why);
  if (!write_record(ending, setup_.recording, false) || !print_last_lines(ending, end_at(), false))
    return force(), false;
  if (request.leaves) return setup_.exit(static_cast<int>(ending.code)), false;
  decide(ending.code);
  return true;
}

/// Ends a run that does not end by itself.
void Supervisor::force() {
  Ending ending = why_over();
  write_record(ending, setup_.rescue, true);
  print_last_lines(ending, in(setup_.saying), true);
  setup_.exit(static_cast<int>(ending.code));
}

/// Waits for an attempt. Returns its outcome; nothing if the limit is reached.
std::optional<std::string> Supervisor::follow(const Attempt& attempt, Limit limit) {
  for (;;) {
    if (auto outcome = attempt.wait(poll_again)) return outcome;
    take_signals();
    if (Clock::now() >= limit.moment || (!limit.is_last && is_over())) return std::nullopt;
  }
}

/// Writes the final record. Returns false if a signal or the deadline came first. A failed write changes `ending`.
bool Supervisor::write_record(Ending& ending, Seconds time, bool is_last) {
  if (!writes_ || !keeper_.has_file()) return true;
  if (keeper_.checkpoint()) follow(*keeper_.checkpoint(), {in(old_checkpoint), true});
  auto outcome = follow(keeper_.write_ended(ending), {in(time), is_last});
  if (!outcome && !is_last && is_over()) return false;
  if (!outcome) outcome = keeper_.too_slow(time);
  follow(keeper_.remove_temporary_files(), {in(for_leftovers), true});
  if (!outcome->empty() && ending.error != outcome)
    ending = refused(ending.error ? *ending.error + "; " + *outcome : *outcome);
  return true;
}

/// Prints the last lines. Returns false if a signal or the deadline came first. A run that cannot print does not pass.
bool Supervisor::print_last_lines(Ending& ending, Moment until, bool is_last) {
  if (writes_) {
    const Attempt lines(
        [this, ending, until] {
          output_.print_until(last_lines(ending), until);
          return std::string();
        },
        [] {});
    const auto problem = follow(lines, {until, is_last});
    if (!problem && !is_last && is_over()) return false;
    if (problem && !problem->empty())
      output_.print_until("\nResult: " + std::string(ending.word) + "\n", in(setup_.saying));
  }
  const auto failure = output_.failure();
  if (failure && ending.code == ExitCode::measured) {
    ending = refused(*failure);
    write_record(ending, setup_.rescue, true);
  } else if (failure && !ending.error) {
    ending.error = *failure;
  }
  if (ending.error && !serves_) print_error(*ending.error);
  return true;
}

std::string Supervisor::last_lines(const Ending& ending) {
  const Snapshot now = keeper_.snapshot();
  std::ostringstream out;
  if (now.last && now.results.size() > printed_) print_result(out, *now.last, max_display_);
  out << '\n';
  print_health(out, now.head);
  out << "whole run: " << seconds() << " s";
  for (const Phase& phase : now.head.phases) out << ", " << phase.name << ' ' << phase.seconds << " s";
  out << "\nResult: " << ending.word << '\n';
  return out.str();
}

void Supervisor::print_error(const std::string& sentence) {
  const std::string line = setup_.program + ": " + sentence + "\n";
  const Moment until = in(setup_.saying);
  const Attempt saying(
      [this, line, until] {
        write_until(setup_.errors, line, until);
        return std::string();
      },
      [] {});
  follow(saying, {until, true});
}

void Supervisor::decide(ExitCode code) {
  {
    const std::lock_guard lock(mutex_);
    code_ = code;
    deadline_ = in(setup_.teardown);
  }
  decided_.notify_all();
}

}  // namespace linkmatrix
