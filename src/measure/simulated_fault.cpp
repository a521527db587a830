#include "measure/simulated_fault.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

using Kind = SimulatedFault::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 13> kinds{{{Kind::error, "error"},
                                                                   {Kind::corrupt, "corrupt"},
                                                                   {Kind::hang, "hang"},
                                                                   {Kind::slow, "slow"},
                                                                   {Kind::intermittent, "intermittent"},
                                                                   {Kind::phases, "phases"},
                                                                   {Kind::shared, "shared"},
                                                                   {Kind::counter, "counter"},
                                                                   {Kind::throttle, "throttle"},
                                                                   {Kind::reorder, "reorder"},
                                                                   {Kind::drop, "drop"},
                                                                   {Kind::drop_flag, "drop-flag"},
                                                                   {Kind::flip, "flip"}}};

constexpr double flapping_loss = 0.5, flapping_share = 0.1;
constexpr double errors_per_poll = 5;

bool is_one_direction(const SimulatedFault& fault) { return fault.endpoint.find("->") != std::string::npos; }

bool is_of_devices(Kind kind) { return kind == Kind::counter || kind == Kind::throttle || kind == Kind::flip; }

bool is_label(const std::string& name, const std::string& label) {
  return name == label || label.ends_with(":" + name);
}

/// Parses the parameters of a fault, such as "=50/10/7" of "intermittent".
void set_parameters(std::string_view text, SimulatedFault& fault) {
  fault.parameters = text;
  const bool is_random = fault.kind == Kind::intermittent;
  if (!is_random && fault.kind != Kind::phases) {
    if (text.empty()) return;
    if (fault.kind != Kind::corrupt)
      throw BadInput("--simulate-fault: only corrupt, intermittent and phases have parameters");
    fault.every = static_cast<std::uint64_t>(parse_count("--simulate-fault", std::string(text.substr(1)), 1, 1 << 30));
    return;
  }
  fault.loss = flapping_loss;
  if (is_random) fault.share = flapping_share;
  if (text.empty()) return;
  std::vector<std::string> terms = split(text.substr(1), '/');
  if (terms.size() < 2 || terms.size() > (is_random ? 3 : 2))
    throw BadInput("--simulate-fault: use intermittent=LOSS/SHARE[/SEED] in percent, or phases=LOSS/SECONDS");
  fault.loss = parse_number("--simulate-fault", terms[0], 1, 99) / 100;
  if (is_random)
    fault.share = parse_number("--simulate-fault", terms[1], 0.1, 100) / 100;
  else
    fault.phase = parse_number("--simulate-fault", terms[1], 0.001, 3600);
  if (terms.size() == 3) fault.seed = static_cast<std::uint32_t>(parse_count("--simulate-fault", terms[2], 1, 1 << 30));
}

}  // namespace

bool SimulatedFault::is_at(const std::string& label) const { return is_label(endpoint, label); }

bool SimulatedFault::is_slowness() const {
  return kind == Kind::slow || kind == Kind::intermittent || kind == Kind::phases || kind == Kind::shared;
}

bool SimulatedFault::is_slow_at(double seconds) const { return std::fmod(seconds, 2 * phase) >= phase; }

bool SimulatedFault::can_be_serial(bool compared) const {
  if (kind == Kind::corrupt) return compared;
  return kind != Kind::shared && kind != Kind::flip && write_fault() == WriteFault::none;
}

WriteFault SimulatedFault::write_fault() const {
  switch (kind) {
    case Kind::reorder:
      return WriteFault::reorder;
    case Kind::drop:
      return WriteFault::drop;
    case Kind::drop_flag:
      return WriteFault::drop_flag;
    default:
      return WriteFault::none;
  }
}

bool SimulatedFault::touches(const Path& path) const {
  const auto arrow = endpoint.find("->");
  if (arrow == std::string::npos) return is_at(path.source) || is_at(path.destination);
  return is_label(endpoint.substr(0, arrow), path.source) && is_label(endpoint.substr(arrow + 2), path.destination);
}

bool SimulatedFault::affects(const Path& path) const {
  if (is_of_devices(kind)) return true;  // a fault of a device's state, not of a copy
  return kind == Kind::corrupt && !is_one_direction(*this) ? is_at(path.destination) : touches(path);
}

void check_fault(const SimulatedFault& fault, const std::vector<Endpoint>& endpoints) {
  const auto check = [&](const std::string& name) {
    std::vector<std::string> labels;
    for (const Endpoint& endpoint : endpoints) {
      if (is_label(name, endpoint.label) && is_of_devices(fault.kind) && endpoint.kind != EndpointKind::device)
        throw BadInput("--simulate-fault " + fault.text() + ": " + endpoint.label +
                       " is host memory, which has no counters: name a device");
      if (is_label(name, endpoint.label)) return;
      labels.push_back(endpoint.label);
    }
    throw BadInput("--simulate-fault: unknown endpoint '" + name + "': use one of " + join(labels));
  };
  const auto arrow = fault.endpoint.find("->");
  if (arrow == std::string::npos || is_of_devices(fault.kind)) return check(fault.endpoint);
  check(fault.endpoint.substr(0, arrow));
  check(fault.endpoint.substr(arrow + 2));
}

bool FaultySampler::touches(const CellIndex& cell) const {
  const auto paths = sampler_.paths(cell);
  return std::any_of(paths.begin(), paths.end(), [this](const Path& path) { return fault_.touches(path); });
}

/// Returns whether the cell is lost with the endpoint: all its copies touch the endpoint, or the cell needs every
/// endpoint.
bool FaultySampler::is_lost_with_endpoint(const CellIndex& cell) const {
  const auto paths = sampler_.paths(cell);
  const auto touched = [this](const Path& path) { return fault_.touches(path); };
  return is_one_direction(fault_) || sampler_.needs_all(cell) ? std::any_of(paths.begin(), paths.end(), touched)
                                                              : std::all_of(paths.begin(), paths.end(), touched);
}

bool FaultySampler::is_available(const CellIndex& cell) const {
  return sampler_.is_available(cell) && !(is_lost_ && is_lost_with_endpoint(cell));
}

CellStatus FaultySampler::lost_status(const CellIndex& cell) const {
  if (is_lost_ && is_lost_with_endpoint(cell))
    return fault_.kind == Kind::hang ? CellStatus::timeout : CellStatus::error;
  return sampler_.lost_status(cell);
}

std::vector<Lost> FaultySampler::take_lost() {
  std::vector<Lost> lost = sampler_.take_lost();
  if (is_lost_ && !is_one_direction(fault_) &&
      !std::exchange(is_announced_, true))  // a lost direction is no lost endpoint
    lost.push_back({fault_.endpoint, fault_.kind == Kind::hang ? "simulated fault: the endpoint hung"
                                                               : "simulated fault: the endpoint failed"});
  return lost;
}

void FaultySampler::break_down(const CellIndex& cell, Sampled& answer, Deadline until) {
  is_lost_ = true;
  if (!is_lost_with_endpoint(cell)) {
    if (answer.status == CellStatus::ok) answer.status = CellStatus::partial;
    answer.why = "simulated fault: " + fault_.endpoint + " took no part";
    return;
  }
  answer = {};
  if (fault_.kind == Kind::hang) {
    while (!until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    answer.status = CellStatus::timeout;
    answer.why = fault_.endpoint + ": simulated fault: the device did not finish in time";
    return;
  }
  answer.status = CellStatus::error;
  answer.why = fault_.endpoint + ": simulated fault: the device failed";
}

/// Returns whether a sample is slow. in_phase: whether `phases` is in a slow phase.
bool FaultySampler::is_slow(std::size_t concurrent_cells, bool in_phase) {
  if (fault_.kind == Kind::shared) return concurrent_cells > 1;
  if (fault_.kind == Kind::intermittent) return std::bernoulli_distribution(fault_.share)(random_);
  return fault_.kind != Kind::phases || in_phase;
}

std::vector<Sampled> FaultySampler::sample(const Round& round, const SampleRule& rule) {
  const bool in_phase = fault_.is_slow_at(steady_seconds());
  std::vector<Sampled> answers = sampler_.sample(round, rule);
  const bool fails = fault_.kind == Kind::error || fault_.kind == Kind::hang;
  for (std::size_t k = 0; k < round.size(); ++k) {
    if (!touches(round[k])) continue;
    Sampled& answer = answers[k];
    if (fails) break_down(round[k], answer, rule.until);
    if (fault_.is_slowness()) {
      const auto paths = sampler_.paths(round[k]);
      for (Sample& sample : answer.samples) {
        if (!is_slow(round.size(), in_phase)) continue;
        slow_down(sample.whole), slow_down(sample.slowest);
        for (std::size_t direction = 0; direction < std::min(paths.size(), sample.directions.size()); ++direction)
          if (fault_.touches(paths[direction])) slow_down(sample.directions[direction]);
      }
    }
    if (fault_.kind == Kind::corrupt && !sampler_.simulates_corruption(round[k]) && receives_corruption(round[k]))
      corrupt(round[k], answer);
  }
  return answers;
}

/// Marks samples as wrong. A cell whose data is compared once, after all samples, becomes wrong as a whole.
void FaultySampler::corrupt(const CellIndex& cell, Sampled& answer) {
  if (!answer.verified || answer.status != CellStatus::ok) return;
  const std::uint64_t samples = answer.samples.size();
  std::uint64_t& before = seen_[cell];
  const std::uint64_t wrong = corrupt_samples(before, samples, fault_.every);
  before += samples;
  if (wrong == 0) return;
  answer.status = CellStatus::corrupt;
  answer.why = "1 wrong bytes arrived (simulated fault)";
  if (answer.coverage.samples == 0) return;
  answer.coverage.wrong_samples = std::min(wrong, answer.coverage.samples);
  answer.why = wrong_samples_text(answer.coverage) + answer.why;
}

/// Returns whether the fault changes any copy of the cell.
bool FaultySampler::receives_corruption(const CellIndex& cell) const {
  const auto paths = sampler_.paths(cell);
  return std::any_of(paths.begin(), paths.end(), [this](const Path& path) { return fault_.affects(path); });
}

std::vector<DeviceState> FaultyMachine::device_states() {
  std::vector<DeviceState> states = machine_.device_states();
  if (fault_.kind != Kind::counter) return states;
  const std::vector<Endpoint>& all = endpoints();
  const auto devices = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Endpoint& endpoint) { return endpoint.kind == EndpointKind::device; }));
  if (states.size() < devices) states.resize(devices);
  for (std::size_t e = 0; e < devices; ++e)
    if (fault_.is_at(all[e].label)) states[e].counters["nvlink_replay"] += errors_per_poll * times_asked_;
  ++times_asked_;
  return states;
}

std::vector<std::string> FaultyMachine::throttle_reasons() {
  std::vector<std::string> reasons = machine_.throttle_reasons();
  if (fault_.kind == Kind::throttle) reasons.push_back(fault_.endpoint + ": simulated fault: power cap");
  return reasons;
}

std::string SimulatedFault::text() const {
  for (const auto& [known, name] : kinds)
    if (known == kind) return std::string(name) + parameters + ":" + endpoint;
  return endpoint;
}

std::string simulated_fault_kinds(bool only_serial) {
  std::vector<std::string> names;
  for (const auto& [kind, name] : kinds)
    if (!only_serial || SimulatedFault{kind, ""}.can_be_serial(true)) names.emplace_back(name);
  return join(names);
}

SimulatedFault parse_simulated_fault(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view word = text.substr(0, std::min(colon, text.find('=')));
  for (const auto& [kind, name] : kinds) {
    if (word != name || colon == std::string_view::npos || colon + 1 >= text.size()) continue;
    SimulatedFault fault{kind, std::string(text.substr(colon + 1))};
    set_parameters(text.substr(word.size(), colon - word.size()), fault);
    return fault;
  }
  throw BadInput("--simulate-fault '" + std::string(text) +
                 "': use KIND:ENDPOINT with KIND error, corrupt, hang or slow, such as slow:gpu1 or 'slow:gpu1->gpu2'; "
                 "corrupt=7:gpu1 corrupts every 7th sample");
}

}  // namespace linkmatrix
