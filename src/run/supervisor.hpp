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

/// What a supervisor works with; tests have other streams and less time.
struct SupervisorSetup {
  using Seconds = RecordKeeper::Seconds;

  std::string program;
  int output = STDOUT_FILENO, errors = STDERR_FILENO;
  Seconds patience{0.6};          ///< for a run to end by itself after a signal: Open MPI kills a second after SIGTERM
  Seconds patience_of_server{5};  ///< the same of a process that only serves: the one that writes ends first
  Seconds between_checkpoints{1.75};  ///< a little less than the 2 s that SIGKILL may cost: a write takes time too
  Seconds recording{30};              ///< for the record of a run that ended by itself
  Seconds rescue{5};                  ///< for the record of one that is ended here
  Seconds saying{1};                  ///< for its last lines
  Seconds teardown{15};  ///< from the last line to the end of the process: devices, other ranks, MPI_Finalize
  RecordKeeper::Write write = write_whole;
  std::function<void(int)> exit = [](int code) { std::_Exit(code); };
};

/// Owns a run's record, its signals and its deadline, from the beginning of main until the process is gone.
///
/// Its thread waits for signals and for the deadline, and never for anything else: what may hang, the record's file and
/// standard output, is an Attempt, and the locks that it takes are held by nobody who writes or prints. A signal or the
/// deadline first ends all waits (stop_signal, Deadline), so that the run can end by itself; if it does not, whatever
/// hangs, the record is written, with all cells that are in it, and the process is ended with its code. Until the run
/// has ended the file holds a checkpoint of the record, with the result INCOMPLETE.
///
/// To be made before any other thread: those that come after leave the signals to it.
class Supervisor {
 public:
  explicit Supervisor(SupervisorSetup setup);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Guarded<Record>& record() { return record_; }
  double seconds() const { return seconds_since(start_); }

  /// The process is ended here when this has passed.
  void end_by(Deadline deadline);

  /// This process writes: from now on the record into that file, if any; tables of that size. Until then, and where
  /// this is never said, an ending is no more than its sentence. Throws BadInput where the file cannot be written.
  void write_to(const std::optional<std::filesystem::path>& file, std::size_t max_display);

  /// This process does what another one says, which decides how the run ends.
  void serve() { serves_ = true; }

  void print(std::string_view text) { output_.print(text); }
  /// Prints a result that is finished. One that is not when the run ends is printed then.
  void print(const MatrixResult& result);

  /// Writes the record and prints the last lines. Returns the code that main is to return, in time: what comes after
  /// this is ended when it takes too long.
  ExitCode end(Ending ending);

  /// The same, and ends the process: after a failure a device may block every further call, destructors too. Any thread
  /// may say it.
  [[noreturn]] void break_off(Ending ending);

 private:
  using Moment = Clock::time_point;
  struct Request {
    Ending ending;
    bool leaves;  ///< the process ends with it
  };
  /// What the waits of an ending look at.
  struct Limit {
    Moment moment;
    bool is_last;  ///< no signal and no deadline ends it before
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
  void say(const std::string& sentence);
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

  mutable std::mutex mutex_;  ///< of what follows; held for no longer than to read or set it
  std::condition_variable decided_;
  std::optional<Request> request_;
  std::optional<ExitCode> code_;
  Moment deadline_ = Moment::max();
  bool quit_ = false;

  Moment patience_over_ = Moment::max();  ///< after a signal; of the supervisor's thread
  std::thread thread_;
};

}  // namespace linkmatrix
