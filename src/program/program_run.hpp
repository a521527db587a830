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

/// Options that all measuring programs have.
struct ProgramOptions {
  std::vector<std::string> command;
  std::vector<std::string_view> given;  ///< names of the options on the command line
  std::string (*print)() = nullptr;     ///< text to print instead of measuring
  MeasureOptions measure;
  std::optional<std::string> asked_by;  ///< name of the calling check
  std::optional<std::filesystem::path> record;
  double timeout = 600;  ///< time limit of the whole run in seconds
  std::size_t max_display = 16;
  bool timing = false;                  ///< whether to print the times of the phases at the end
  double wait_idle = 0;                 ///< maximum wait in seconds until no other process uses the node
  bool refuse_busy = false;             ///< whether to fail if another process still uses the node
  std::vector<IgnoredProcess> ignored;  ///< processes that are not disturbances
  std::optional<SimulatedFault> fault;

  bool is_given(std::string_view name) const { return std::ranges::find(given, name) != given.end(); }
};

/// One run of a measuring program, from start to exit code. A program derives from it. Flow of run(): start() in every
/// process; then act() in the process that writes, Machine::serve() in the others. Runs on one thread. Ends the process
/// if a hung device would block it.
class ProgramRun {
 public:
  ProgramRun(std::string program, const ProgramOptions& options, Supervisor& supervisor);
  virtual ~ProgramRun() = default;
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  ExitCode run();

 protected:
  /// Initializes the machine and calls use(). Throws BadInput if the machine cannot measure the options, DeviceError
  /// and TimedOut.
  virtual void start() = 0;

  /// Sets the machine of the run, and adds the simulated fault. Throws BadInput if the machine cannot have the fault.
  void use(Machine& machine);

  /// Measures. Called only in the process that writes.
  virtual void act() = 0;

  /// Returns whether the machine counts the run's own bytes on networks.
  virtual bool counts_own_bytes() const { return false; }

  Guarded<Record>& record() { return supervisor_.record(); }
  Supervisor& supervisor() { return supervisor_; }
  Machine& machine() { return *machine_; }
  Deadline deadline() const { return deadline_; }

  /// Polls other processes before the first measurement. Waits for --wait-idle. Throws DeviceError for --refuse-busy.
  void poll_first();

  /// Polls, and returns the usage by other processes since the last poll, with its disturbances; nothing if unknown.
  std::optional<Activity> poll_again();

  /// Polls between measurements, so that poll_again() also reports processes with a short-lived GPU context.
  void remember_contexts() { linkmatrix::remember_contexts(last_poll_, poll()); }

  /// Adds a disturbance for each device that was lost because other processes hold its memory.
  void add_memory_disturbances(Activity& others);

  /// Makes the supervisor write the record from now on.
  void write_record();

  /// Adds a result to the record and measures the cells at `cells` serially, with the simulated fault. Throws as
  /// measure(). After BadInput, removes the result.
  void measure_one_by_one(const auto& cells, MatrixResult result, Sampler& sampler, MeasureOptions how) {
    std::vector<Round> rounds;
    for (const CellIndex& cell : cells) rounds.push_back({cell});
    measure_rounds(ListedRounds(std::move(rounds)), std::move(result), sampler, std::move(how));
  }

  /// Calls `change` with the record to complete its last result, and prints this result.
  void finish_last(const std::function<void(Record&)>& change);

  std::size_t results();
  void end_phase(const std::string& name);

 private:
  void measure_rounds(const ListedRounds& rounds, MatrixResult result, Sampler& sampler, MeasureOptions how);
  void start_up();
  void start_or_record();
  Activity poll();
  std::vector<DeviceState> read_device_states();
  void describe(Record& record, const std::vector<DeviceState>& states) const;
  void close_all_health();
  Ending ending();
  ExitCode end(ExitCode code);

  const ProgramOptions& options_;
  Supervisor& supervisor_;
  Deadline deadline_;
  Machine* machine_ = nullptr;
  std::optional<FaultyMachine> faulty_;
  std::vector<NodeFacts> nodes_;                      ///< nodes before the first measurement
  std::optional<std::filesystem::path> record_file_;  ///< --record, after symbolic links
  Activity last_poll_;                                ///< last poll of other processes
};

/// Returns the health of devices with the state before the run.
std::vector<Health> open_health(std::span<const Endpoint> devices, std::span<const DeviceState> states);

/// Adds the state after the run. Items that were missing before are added.
void close_health(std::span<Health> health, std::span<const DeviceState> states);

}  // namespace linkmatrix
