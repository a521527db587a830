#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/disturbances.hpp"
#include "core/guarded.hpp"
#include "core/machine.hpp"
#include "core/result.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// What the command line of every program that measures says.
struct ProgramOptions {
  std::vector<std::string> command;
  std::optional<std::string> asked_by;  ///< the check that asks
  std::optional<std::filesystem::path> record;
  double timeout = 600;  ///< seconds of the whole run
  std::size_t max_display = 16;
  double wait_idle = 0;                 ///< seconds, at most, until nobody else uses what is measured
  bool refuse_busy = false;             ///< whether it is an error if somebody still does
  std::vector<IgnoredProcess> ignored;  ///< processes that disturb nothing
};

/// One run of a program, from its first line to its exit code, whatever it measures. Its record, which the supervisor
/// keeps, grows cell by cell. The process is ended in here where a hung device would block it.
class ProgramRun {
 public:
  ProgramRun(std::string program, const ProgramOptions& options, Supervisor& supervisor);
  virtual ~ProgramRun() = default;
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  ExitCode run();

 protected:
  /// What is measured with, and what is to be said of it.
  struct Started {
    Machine& machine;
    std::vector<NodeFacts> nodes;
    std::vector<std::string> notes;
  };
  /// Brings it up. Throws as everything here does: BadInput where nothing can be measured as asked, DeviceError,
  /// TimedOut.
  virtual Started start() = 0;

  /// What the nodes say of themselves and of their adapters now.
  virtual std::vector<NodeFacts> nodes() = 0;

  /// Measures, or does whatever the run is for; of the process that writes.
  virtual void act() = 0;

  /// Whether the machine counts the bytes that the run moves over networks.
  virtual bool counts_own_bytes() const { return false; }

  /// Of a process that only does what the one that writes says: until there is no more to do.
  virtual void serve() {}

  /// Why the processes that serve cannot be ended in order, though all was measured; nothing if they can.
  virtual std::optional<std::string> disorder() { return std::nullopt; }

  /// Ends the processes that serve, when it is decided how; also where `start` failed.
  virtual void dismiss(ExitCode) {}

  Guarded<Record>& record() { return supervisor_.record(); }
  Supervisor& supervisor() { return supervisor_; }
  Machine& machine() { return *machine_; }
  Deadline deadline() const { return deadline_; }

  /// To be called where the machine is looked at, when it is known that the run may begin: at what others do, and waits
  /// for them or throws DeviceError, as asked.
  void look_first();

  /// What other processes did since the poll before, and what they disturbed; nothing where that cannot be seen.
  std::optional<Activity> look_again();

  /// Polls in between, so that a process which has a context on a device for a short time only is seen too.
  void remember_contexts() { linkmatrix::remember_contexts(last_look_, poll()); }

  /// Adds the devices that were lost because other processes hold their memory.
  void add_memory_disturbances(Activity& others);

  /// From now on there is something to be kept.
  void write_record();

  /// Ends a test case's result, which is the record's last.
  void finish_last(const std::function<void(Record&)>& change);

  std::size_t results();
  void end_phase(const std::string& name);

 private:
  void start_up();
  Started start_or_record();
  Activity poll();
  void describe(Record& record, const Started& started, const std::vector<DeviceState>& states) const;
  void close_all_health();
  Ending ending();
  ExitCode end(ExitCode code);

  const ProgramOptions& options_;
  Supervisor& supervisor_;
  Deadline deadline_;
  Machine* machine_ = nullptr;
  std::vector<NodeFacts> nodes_;                      ///< as they were before anything was measured
  std::optional<std::filesystem::path> record_file_;  ///< where a link leads to
  Activity last_look_;                                ///< poll of what other processes do
};

}  // namespace linkmatrix
