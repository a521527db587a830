#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/disturbances.hpp"
#include "core/guarded.hpp"
#include "core/machine.hpp"
#include "core/result.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// What the command line of every program that measures says.
struct ProgramOptions {
  std::vector<std::string> command;
  std::vector<std::string_view> given;  ///< names of the options on the command line
  std::string (*print)() = nullptr;     ///< text to print in place of a measurement
  MeasureOptions measure;
  std::optional<std::string> asked_by;  ///< the check that asks
  std::optional<std::filesystem::path> record;
  double timeout = 600;  ///< seconds of the whole run
  std::size_t max_display = 16;
  double wait_idle = 0;                 ///< seconds, at most, until nobody else uses what is measured
  bool refuse_busy = false;             ///< whether it is an error if somebody still does
  std::vector<IgnoredProcess> ignored;  ///< processes that disturb nothing
  std::optional<SimulatedFault> fault;

  bool is_given(std::string_view name) const { return std::ranges::find(given, name) != given.end(); }
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
  /// Brings up the machine and calls `use` with it. Throws BadInput if the run cannot measure what the options ask for,
  /// DeviceError and TimedOut.
  virtual void start() = 0;

  /// The machine of the run, which gets the simulated fault. Throws BadInput if the machine cannot have the fault.
  void use(Machine& machine);

  /// Measures, or does whatever the run is for; of the process that writes.
  virtual void act() = 0;

  /// Whether the machine counts the bytes that the run moves over networks.
  virtual bool counts_own_bytes() const { return false; }

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

  /// Adds a result and measures its cells one by one, with the simulated fault. Throws as measure(). After BadInput the
  /// record does not have the result.
  void measure_one_by_one(const auto& places, MatrixResult result, Sampler& sampler, MeasureOptions how) {
    std::vector<Round> rounds;
    for (const Place& place : places) rounds.push_back({place});
    measure_rounds(ListedRounds(std::move(rounds)), std::move(result), sampler, std::move(how));
  }

  /// Ends a test case's result, which is the record's last.
  void finish_last(const std::function<void(Record&)>& change);

  std::size_t results();
  void end_phase(const std::string& name);

 private:
  void measure_rounds(const ListedRounds& rounds, MatrixResult result, Sampler& sampler, MeasureOptions how);
  void start_up();
  void start_or_record();
  Activity poll();
  void describe(Record& record, const std::vector<DeviceState>& states) const;
  void close_all_health();
  Ending ending();
  ExitCode end(ExitCode code);

  const ProgramOptions& options_;
  Supervisor& supervisor_;
  Deadline deadline_;
  Machine* machine_ = nullptr;
  std::optional<FaultyMachine> faulty_;
  std::vector<NodeFacts> nodes_;                      ///< as they were before anything was measured
  std::optional<std::filesystem::path> record_file_;  ///< where a link leads to
  Activity last_look_;                                ///< poll of what other processes do
};

/// What the devices say of themselves before the run. States without a device are left out: a machine may know more
/// than is measured.
std::vector<Health> open_health(std::span<const Endpoint> devices, std::span<const DeviceState> states);

/// Adds what they say after it; what was not known before is added.
void close_health(std::span<Health> health, std::span<const DeviceState> states);

}  // namespace linkmatrix
