#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/clock.hpp"
#include "core/guarded.hpp"
#include "core/result.hpp"
#include "run/atomic_file.hpp"
#include "run/ending.hpp"
#include "run/output.hpp"
#include "run/record_keeper.hpp"
#include "run/signals.hpp"

namespace linkmatrix {

/// Settings of a supervisor; tests use other streams and shorter times.
struct SupervisorSetup {
  using Seconds = RecordKeeper::Seconds;

  std::string program;
  int output = STDOUT_FILENO, errors = STDERR_FILENO;
  Seconds patience{0.6};          ///< time for a run to end by itself after a signal (mpirun kills after 1 s)
  Seconds patience_of_server{5};  ///< the same for a process that only serves, so that the writing process ends first
  Seconds between_checkpoints{1.75};  ///< so that SIGKILL loses at most 2 s of results, including the write
  Seconds recording{30};              ///< time to write the record of a run that ended by itself
  Seconds rescue{5};                  ///< time to write the record of a run that the supervisor ends
  Seconds saying{1};                  ///< time to print the last lines
  Seconds teardown{15};               ///< time from the last line to the end of the process, with MPI_Finalize
  RecordKeeper::Write write = write_whole;
  std::function<void(int)> exit = [](int code) { std::_Exit(code); };
};

/// Owns the record, signals and deadline of a run, from the start of main to the end of the process. Create it before
/// any other thread, because later threads inherit its signal mask.
///
/// - During the run its thread writes checkpoints with the result INCOMPLETE.
/// - A signal or the deadline first ends all waits (stop_signal, Deadline), so that the run can end by itself.
/// - If the run does not end, the supervisor writes the record with all measured cells and ends the process.
/// - Work that may hang is an Attempt, and no lock is held while writing. The thread itself therefore never hangs.
///
/// The public functions are called by the measuring thread, break_off() by any thread.
class Supervisor {
 public:
  explicit Supervisor(SupervisorSetup setup);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Guarded<Record>& record() { return record_; }
  double seconds() const { return seconds_since(start_); }

  /// Sets the deadline at which the supervisor ends the process.
  void end_by(Deadline deadline);

  /// Makes this process write the record to `file` (nothing: no record) and print tables with at most `max_display`
  /// rows and columns. Without this call the end of the run only prints an error sentence. Throws BadInput if the file
  /// cannot be written.
  void write_to(const std::optional<std::filesystem::path>& file, std::size_t max_display);

  /// Marks this process as serving: another process ends the run.
  void serve() { serves_ = true; }

  void print(std::string_view text) { output_.print(text); }
  /// Prints a finished result. (The end of the run prints an unfinished result.)
  void print(const MatrixResult& result);

  /// Writes the record and prints the last lines. Returns the exit code for main, which must return within
  /// SupervisorSetup::teardown.
  ExitCode end(Ending ending);

  /// As end(), but ends the process immediately, because after a failure a device may block every call and destructor.
  [[noreturn]] void break_off(Ending ending);

 private:
  using Moment = Clock::time_point;
  struct Request {
    Ending ending;
    bool leaves;  ///< whether the process ends afterwards
  };
  /// Time limit of a step of the ending.
  struct Limit {
    Moment moment;
    bool is_last;  ///< true: only `moment` ends the step; false: also a signal or the deadline
  };

  void post(Request request);
  void wake() const;
  void watch();
  void end_after(const std::exception& failure);
  void give_up() const;
  bool watch_once();
  void wait() const;
  void take_signals();
  Moment end_at() const;
  bool is_over() const { return Clock::now() >= end_at(); }
  Ending why_over() const;

  std::optional<std::string> no_room() const;
  bool conclude(const Request& request);
  void force();
  std::optional<std::string> follow(const Attempt& attempt, Limit limit);
  bool write_record(Ending& ending, SupervisorSetup::Seconds time, bool is_last);
  bool print_last_lines(Ending& ending, Moment until, bool is_last);
  std::string last_lines(const Ending& ending);
  void print_error(const std::string& sentence);
  void decide(ExitCode code);

  const SupervisorSetup setup_;
  const Moment start_ = Clock::now();
  Signals signals_;
  std::shared_ptr<Descriptor> wake_;
  Output output_;
  Guarded<Record> record_;
  RecordKeeper keeper_;
  std::atomic<bool> writes_{false}, serves_{false};
  std::atomic<std::size_t> max_display_{0}, printed_{0};

  mutable std::mutex mutex_;  ///< protects the following fields; held only to read or set them
  std::condition_variable decided_;
  std::optional<Request> request_;
  std::optional<ExitCode> code_;
  Moment deadline_ = Moment::max();
  bool quit_ = false;

  Moment patience_over_ = Moment::max();  ///< time limit after a signal; used by the supervisor's thread only
  std::thread thread_;
};

}  // namespace linkmatrix
