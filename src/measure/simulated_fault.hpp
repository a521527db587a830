#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine.hpp"
#include "core/visibility.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// A simulated fault (--simulate-fault), to test whether the checks detect it and name the right endpoint.
struct SimulatedFault {
  enum class Kind {
    error,
    corrupt,
    hang,
    slow,
    intermittent,
    phases,
    shared,
    counter,
    throttle,
    reorder,
    drop,
    drop_flag,
    flip
  };

  Kind kind = Kind::error;
  std::string endpoint;     ///< label of an endpoint; or "gpu1->gpu2" for one direction
  std::string terms{};      ///< parameters of the fault as given, "=50/10"; empty: defaults
  double loss = 0.2;        ///< loss of rate while slow, as a fraction
  double share = 1;         ///< intermittent: fraction of slow samples
  double phase = 1;         ///< phases: seconds of each healthy and each slow phase
  std::uint32_t seed = 1;   ///< intermittent: random seed of the slow samples
  std::uint64_t every = 1;  ///< corrupt: every how many samples of a cell

  std::string text() const;  ///< "slow:gpu1", "corrupt=7:gpu1"
  bool is_slowness() const;
  /// Returns whether the fault is in a slow phase `seconds` after the start. For phases.
  bool is_slow_at(double seconds) const;
  /// Returns whether a copy uses the endpoint or direction of the fault. For ranks the last part of a label suffices:
  /// "rank3".
  bool touches(const Path& path) const;
  bool is_of(const std::string& label) const;
  /// Returns whether programs without concurrent cells and visibility tests can have the fault. compared: whether data
  /// is compared.
  bool is_of_all(bool compared) const;
  /// Returns the fault of the writer of a visibility test; none for other faults.
  WriteFault write_fault() const;
  /// Returns whether a copy has the fault. Corruption affects only copies that arrive at the endpoint.
  bool has(const Path& path) const;
};

/// Returns the types of faults for --help. of_all: only types that all programs have.
std::string simulated_fault_kinds(bool of_all = false);

/// Returns how many of `samples` samples, after `before` others, are corrupt if every `every`-th sample is.
constexpr std::uint64_t corrupt_samples(std::uint64_t before, std::uint64_t samples, std::uint64_t every) {
  return (before + samples) / every - before / every;
}

/// Parses "KIND:ENDPOINT", "intermittent=LOSS/SHARE:ENDPOINT" or "intermittent=LOSS/SHARE/SEED:ENDPOINT" (percent,
/// 50/10), "phases=LOSS/SECONDS:ENDPOINT" (50/1), or "corrupt=N:ENDPOINT" for every Nth sample. Throws BadInput.
SimulatedFault parse_simulated_fault(std::string_view text);

/// Throws BadInput if the machine has no endpoint with that label, or if the endpoint cannot have the fault.
void check_fault(const SimulatedFault& fault, const std::vector<Endpoint>& endpoints);

/// A sampler that adds a fault to all cells with a copy from or to the endpoint. error: they fail, and the endpoint is
/// lost. hang: they wait for the deadline, and the endpoint is lost. corrupt: data that arrives there is wrong. slow:
/// 80 % of the rate. intermittent: a random fraction of samples is slow. phases: slow half of the time. shared: slow
/// while other cells run. Faults of visibility tests are simulated by the back ends.
class FaultySampler final : public Sampler {
 public:
  FaultySampler(Sampler& sampler, const SimulatedFault& fault)
      : sampler_{sampler}, fault_{fault}, random_{fault.seed} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const Place& place) const override { return sampler_.resources(place); }
  std::vector<Path> paths(const Place& place) const override { return sampler_.paths(place); }
  bool is_there(const Place& place) const override;
  bool needs_all(const Place& place) const override { return sampler_.needs_all(place); }
  CellStatus lost_as(const Place& place) const override;
  std::vector<Lost> take_lost() override;
  Sensitivity sensitivity() const override { return sampler_.sensitivity(); }
  Clocking clocking() const override { return sampler_.clocking(); }

 private:
  bool touches(const Place& place) const;
  bool poisons(const Place& place) const;
  bool falls_with_it(const Place& place) const;
  bool is_slow(std::size_t cells_at_once, bool in_phase);
  void slow_down(Span& span) const { span.end = span.start + span.seconds() / (1 - fault_.loss); }
  void break_down(const Place& place, Sampled& answer, Deadline until);
  void poison(const Place& place, Sampled& answer);

  Sampler& sampler_;
  SimulatedFault fault_;
  std::mt19937 random_;
  bool is_lost_ = false, is_announced_ = false;
  std::map<Place, std::uint64_t> seen_;  ///< number of samples of each corrupted cell
};

/// A machine that adds a fault to the state of its devices. counter: the device counts errors during the run. throttle:
/// the device reports a throttle reason. Bit flips are simulated by the heating itself. Throws like check_fault.
class FaultyMachine final : public Machine {
 public:
  FaultyMachine(Machine& machine, const SimulatedFault& fault) : machine_{machine}, fault_{fault} {
    if (machine.is_root()) check_fault(fault, machine.endpoints());
  }

  std::string name() const override { return machine_.name(); }
  const std::vector<Endpoint>& endpoints() const override { return machine_.endpoints(); }
  const Topology& topology() const override { return machine_.topology(); }
  const Software& software() const override { return machine_.software(); }
  std::vector<DeviceState> device_states() override;
  std::vector<std::string> throttle_reasons() override;
  Activity activity() override { return machine_.activity(); }
  std::vector<NodeFacts> nodes() override { return machine_.nodes(); }
  bool is_root() const override { return machine_.is_root(); }
  void serve() override { machine_.serve(); }
  std::optional<std::string> disorder() override { return machine_.disorder(); }
  void dismiss(ExitCode code) override { machine_.dismiss(code); }

 private:
  Machine& machine_;
  SimulatedFault fault_;
  int times_asked_ = 0;
};

}  // namespace linkmatrix
