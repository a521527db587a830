#include "device/simulated_fault.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

using Kind = SimulatedFault::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 7> kinds{{{Kind::error, "error"},
                                                                  {Kind::corrupt, "corrupt"},
                                                                  {Kind::hang, "hang"},
                                                                  {Kind::slow, "slow"},
                                                                  {Kind::shared, "shared"},
                                                                  {Kind::counter, "counter"},
                                                                  {Kind::throttle, "throttle"}}};

constexpr int healthy_runs = 2;  // before an error or a hang: it happens in the middle
constexpr double slow_rate = 0.8;

int find_endpoint(const Backend& backend, const std::string& label) {
  std::vector<std::string> labels;
  for (const Endpoint& endpoint : backend.endpoints()) labels.push_back(endpoint.label);
  const auto at = std::find(labels.begin(), labels.end(), label);
  if (at == labels.end())
    throw BadInput("--simulate-fault: there is no endpoint '" + label + "', there are " + join(labels));
  return static_cast<int>(at - labels.begin());
}

/// An endpoint, or a source and a destination of which only the way from the one to the other is touched.
struct Place {
  int endpoint;
  std::optional<int> destination;
};

Place find_place(const Backend& backend, const SimulatedFault& fault) {
  const auto arrow = fault.endpoint.find("->");
  const bool of_devices = fault.kind == Kind::counter || fault.kind == Kind::throttle;
  if (arrow == std::string::npos || of_devices) return {find_endpoint(backend, fault.endpoint), std::nullopt};
  return {find_endpoint(backend, fault.endpoint.substr(0, arrow)),
          find_endpoint(backend, fault.endpoint.substr(arrow + 2))};
}

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> backend, SimulatedFault fault)
      : backend_{std::move(backend)}, fault_{std::move(fault)}, place_{find_place(*backend_, fault_)} {}

  std::string name() const override { return backend_->name(); }
  const std::vector<Endpoint>& endpoints() const override { return backend_->endpoints(); }
  const Topology& topology() const override { return backend_->topology(); }
  const Software& software() const override { return backend_->software(); }
  std::optional<std::string> refusal(const Copy& copy) const override { return backend_->refusal(copy); }
  std::vector<int> resources(const Copy& copy) const override { return backend_->resources(copy); }
  std::uint64_t chase_bytes() const override { return backend_->chase_bytes(); }
  void prepare(std::span<const Copy> copies, Deadline deadline) override { backend_->prepare(copies, deadline); }
  std::vector<DeviceState> device_states() override {
    std::vector<DeviceState> states = backend_->device_states();
    if (fault_.kind != Kind::counter) return states;
    const auto at = static_cast<std::size_t>(place_.endpoint);
    if (states.size() <= at) states.resize(at + 1);
    states[at].counters["nvlink_replay"] += 5 * states_asked_++;
    return states;
  }
  std::vector<std::string> throttle_reasons() override {
    std::vector<std::string> reasons = backend_->throttle_reasons();
    if (fault_.kind == Kind::throttle) reasons.push_back(fault_.endpoint + ": simulated fault: power cap");
    return reasons;
  }
  bool any(bool here) override { return backend_->any(here); }
  bool is_root() const override { return backend_->is_root(); }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    const bool touched = std::any_of(copies.begin(), copies.end(), [this](const Copy& copy) { return touches(copy); });
    if (touched && ++runs_ > healthy_runs) break_down(deadline);
    std::vector<CopyTime> times = backend_->run(copies, repeats, deadline);
    const bool shares = fault_.kind == Kind::shared && copies.size() > 1;
    if (fault_.kind == Kind::slow || shares)
      for (std::size_t k = 0; k < copies.size(); ++k)
        if (touches(copies[k])) times[k].seconds /= slow_rate;
    return times;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    std::vector<PatternCheck> checks = backend_->verify(copies, seed, deadline);
    if (fault_.kind == Kind::corrupt)
      for (std::size_t k = 0; k < copies.size(); ++k)
        if (copies[k].destination == place_.destination.value_or(place_.endpoint) && touches(copies[k]) &&
            checks[k].wrong_bytes == 0)
          checks[k] = {1, copies[k].bytes / 2};
    return checks;
  }

 private:
  bool touches(const Copy& copy) const {
    if (place_.destination) return copy.source == place_.endpoint && copy.destination == *place_.destination;
    return copy.source == place_.endpoint || copy.destination == place_.endpoint;
  }

  void break_down(Deadline deadline) const {
    if (fault_.kind == Kind::error) throw DeviceError(fault_.endpoint + ": simulated fault: the device failed");
    if (fault_.kind != Kind::hang) return;
    std::this_thread::sleep_until(deadline.at());
    throw TimedOut(fault_.endpoint + ": simulated fault: the device did not finish within --timeout");
  }

  std::unique_ptr<Backend> backend_;
  SimulatedFault fault_;
  Place place_;
  int runs_ = 0;
  int states_asked_ = 0;
};

}  // namespace

std::string SimulatedFault::text() const {
  for (const auto& [known, name] : kinds)
    if (known == kind) return std::string(name) + ":" + endpoint;
  return endpoint;
}

std::string simulated_fault_kinds() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : kinds) names.emplace_back(name);
  return join(names);
}

SimulatedFault parse_simulated_fault(std::string_view text) {
  const auto colon = text.find(':');
  for (const auto& [kind, name] : kinds)
    if (text.substr(0, colon) == name && colon != std::string_view::npos && colon + 1 < text.size())
      return {kind, std::string(text.substr(colon + 1))};
  throw BadInput("--simulate-fault '" + std::string(text) +
                 "': use error, corrupt, hang or slow, ':' and an endpoint or "
                 "the way between two, such as slow:gpu1 or 'slow:gpu1->gpu2'");
}

std::unique_ptr<Backend> with_simulated_fault(std::unique_ptr<Backend> backend, SimulatedFault fault) {
  return std::make_unique<FaultyBackend>(std::move(backend), std::move(fault));
}

}  // namespace linkmatrix
