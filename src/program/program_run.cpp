#include "program/program_run.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "core/disturbances.hpp"
#include "core/record.hpp"
#include "core/run_times.hpp"
#include "core/table.hpp"
#include "device/host/adapter_counters.hpp"
#include "device/host/adapters.hpp"
#include "device/host/host_facts.hpp"
#include "run/atomic_file.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

constexpr double grace = 10;                    // seconds between the deadline of all waits and the end of the process
constexpr double grace_of_servers = 2 * grace;  // longer, so that the process that writes ends first

void close_items(std::vector<Health::Item>& items, const std::map<std::string, double>& after) {
  for (const auto& [name, value] : after) {
    const auto item = std::find_if(items.begin(), items.end(), [&n = name](const auto& i) { return i.name == n; });
    if (item != items.end())
      item->after = value;
    else
      items.push_back({name, std::nullopt, value});
  }
}

}  // namespace

ProgramRun::ProgramRun(std::string program, const ProgramOptions& options, Supervisor& supervisor)
    : options_{options}, supervisor_{supervisor}, deadline_{Deadline::in(options.timeout)} {
  supervisor_.end_by(Deadline::in(options_.timeout + grace));
  const HostFacts facts = host_facts();
  record().change([&](Record& record) {
    record.program = std::move(program);
    record.started = utc_now();
    record.command = options_.command;
    record.asked_by = options_.asked_by;
    record.host = {facts.name, facts.cpu, facts.cores, facts.numa_nodes};
  });
}

ExitCode ProgramRun::run() {
  try {
    start_up();
    if (!machine().is_root()) return machine().serve(), supervisor_.end(passed());
    begin_phase(RunPhase::measuring);
    act();
    close_all_health();
  } catch (const BadInput& e) {
    return end(supervisor_.end(ending_of(e)));
  } catch (const std::exception& e) {
    supervisor_.break_off(ending_of(e));
  }
  begin_phase(RunPhase::record);
  return end(supervisor_.end(ending()));
}

Ending ProgramRun::ending() {
  const Ending by_record = record().read(judge);
  if (by_record.code != ExitCode::measured) return by_record;
  const auto why = machine().abnormal_end();
  return why ? broken(*why) : by_record;
}

ExitCode ProgramRun::end(ExitCode code) {
  begin_phase(RunPhase::exit);
  if (machine_ != nullptr) machine_->dismiss(code);
  return code;
}

void ProgramRun::use(Machine& machine) {
  machine_ = &machine;
  if (!options_.fault) return;
  machine_ = &faulty_.emplace(machine, *options_.fault);
  record().change([&](Record& record) { record.notes.push_back("simulated fault: " + options_.fault->text()); });
}

void ProgramRun::start_up() {
  start_or_record();
  nodes_ = machine().nodes();
  const bool root = machine().is_root();
  if (!root) {
    supervisor_.serve();
    supervisor_.end_by(Deadline::in(options_.timeout + grace_of_servers));
  }
  if (root && options_.record) check_writable(*(record_file_ = target_of(*options_.record)));
  const auto states = read_device_states();
  record().change([&](Record& record) { describe(record, states); });
  end_phase("start-up");
  if (!root) return;
  std::ostringstream head;
  record().read([&](const Record& record) { print_head(head, record, options_.max_display); });
  supervisor_.print(head.str());
}

/// Records the other processes that hold the device memory, so that the run is reported as disturbed.
void ProgramRun::start_or_record() {
  const InPhase phase(RunPhase::devices);
  try {
    start();
  } catch (const MemoryHeld& e) {
    record().change([&](Record& record) {
      record.backend = "cuda";  // only GPUs have memory that other processes can hold
      for (const std::string& device : e.devices()) record.lost.push_back({device, e.what(), LossKind::memory});
      Activity poll = e.poll();
      mark_ignored(poll, options_.ignored);
      record.others = single_poll_usage(poll);
      decide_disturbances(*record.others);
      for (const Lost& one : record.lost) add_memory_disturbance(*record.others, one.label);
    });
    if (options_.record) check_writable(*(record_file_ = target_of(*options_.record)));
    supervisor_.write_to(record_file_, options_.max_display);
    throw;
  }
}

void ProgramRun::describe(Record& record, const std::vector<DeviceState>& states) const {
  const InPhase phase(RunPhase::topology);
  record.backend = machine_->name();
  for (const Endpoint& endpoint : machine_->endpoints())
    if (endpoint.kind == EndpointKind::device) record.devices.push_back(endpoint);
  name_nearest_adapters(record.devices, nodes_);
  record.topology = machine_->topology();
  record.software = machine_->software();
  record.health = open_health(record.devices, states);
  record.nodes = nodes_;
}

Activity ProgramRun::poll() {
  Activity poll = machine().activity();
  mark_ignored(poll, options_.ignored);
  return poll;
}

/// Waits for other processes, or refuses to measure, according to the options. Called before the first measurement.
void ProgramRun::poll_first() {
  const bool asked = options_.wait_idle > 0 || options_.refuse_busy;
  IdleWait idle{asked ? wait_until_idle([this] { return poll(); }, Deadline::in(options_.wait_idle), deadline_)
                      : IdleWait{poll(), {}, {}}};
  last_poll_ = std::move(idle.last);
  if (asked && last_poll_.empty())
    throw BadInput("other processes cannot be detected here: omit --wait-idle and --refuse-busy");
  if (idle.busy_sentence && options_.refuse_busy)
    throw DeviceError(busy_sentence(*idle.busy_sentence, options_.wait_idle));
  Activity others = asked ? std::move(idle.between) : single_poll_usage(last_poll_);
  if (!asked) decide_disturbances(others);
  add_memory_disturbances(others);
  record().change([&](Record& record) {
    if (!last_poll_.empty()) record.others = std::move(others);
    if (idle.busy_sentence) record.notes.push_back("other processes used the node: " + *idle.busy_sentence);
  });
}

/// Adds disturbances of devices whose memory other processes held.
void ProgramRun::add_memory_disturbances(Activity& others) {
  const std::vector<Lost> lost = record().read([](const Record& record) { return record.lost; });
  for (const Lost& one : lost)
    if (one.kind == LossKind::memory) add_memory_disturbance(others, one.label);
}

void ProgramRun::write_record() {
  if (machine().is_root()) supervisor_.write_to(record_file_, options_.max_display);
}

std::optional<Activity> ProgramRun::poll_again() {
  Activity now = poll();
  Activity others = between(last_poll_, now);
  last_poll_ = std::move(now);
  if (!counts_own_bytes()) forget_own_bytes(others);
  decide_disturbances(others);
  return others.empty() ? std::nullopt : std::optional(std::move(others));
}

void ProgramRun::finish_last(const std::function<void(Record&)>& change) {
  const auto throttled = machine().throttle_reasons();
  std::optional<Activity> others = poll_again();
  const bool failed = record().read([](const Record& r) { return r.results.back().cells(CellStatus::error) > 0; });
  if (others && failed) add_memory_disturbances(*others);
  const MatrixResult result = record().change([&](Record& record) {
    record.results.back().throttled = throttled;
    record.results.back().others = others;
    change(record);
    return record.results.back();
  });
  supervisor_.print(result);
}

void ProgramRun::measure_rounds(const ListedRounds& rounds, MatrixResult result, Sampler& sampler, MeasureOptions how) {
  record().change([&](Record& record) { record.results.push_back(std::move(result)); });
  write_record();
  std::optional<FaultySampler> faulty;
  if (options_.fault) faulty.emplace(sampler, *options_.fault);
  how.concurrency = Concurrency::serial;
  ResultStore store(record());
  try {
    measure(faulty ? static_cast<Sampler&>(*faulty) : sampler, {.rounds = rounds}, how, deadline(), store);
  } catch (const BadInput&) {
    record().change([](Record& record) { record.results.pop_back(); });
    throw;
  }
}

std::size_t ProgramRun::results() {
  return record().read([](const Record& record) { return record.results.size(); });
}

std::vector<DeviceState> ProgramRun::read_device_states() {
  const InPhase phase(RunPhase::counters);
  return machine().device_states();
}

void ProgramRun::close_all_health() {
  const auto states = read_device_states();
  const auto adapters = machine().is_root() ? adapter_health(nodes_, machine().nodes()) : std::vector<Health>();
  record().change([&](Record& record) {
    close_health(record.health, states);
    record.health.insert(record.health.end(), adapters.begin(), adapters.end());
  });
}

void ProgramRun::end_phase(const std::string& name) {
  record().change([&](Record& record) {
    double before = 0;
    for (const Phase& phase : record.phases) before += phase.seconds;
    record.phases.push_back({name, supervisor_.seconds() - before});
  });
}

std::vector<Health> open_health(std::span<const Endpoint> devices, std::span<const DeviceState> states) {
  std::vector<Health> health;
  for (std::size_t d = 0; d < std::min(devices.size(), states.size()); ++d) {
    Health& one = health.emplace_back(Health{devices[d].label, {}, {}});
    for (const auto& [name, value] : states[d].counters) one.counters.push_back({name, value, std::nullopt});
    for (const auto& [name, value] : states[d].readings) one.readings.push_back({name, value, std::nullopt});
  }
  return health;
}

void close_health(std::span<Health> health, std::span<const DeviceState> states) {
  for (std::size_t d = 0; d < std::min(health.size(), states.size()); ++d) {
    close_items(health[d].counters, states[d].counters);
    close_items(health[d].readings, states[d].readings);
  }
}

}  // namespace linkmatrix
