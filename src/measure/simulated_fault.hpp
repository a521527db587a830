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

/// A simulated fault (--simulate-fault). It tests whether the checks detect the fault and name its endpoint.
struct SimulatedFault {
  enum class Kind {
    error,         ///< cells fail, and the endpoint is lost
    corrupt,       ///< data that arrives at the endpoint is wrong
    hang,          ///< cells wait for their deadline, and the endpoint is lost
    slow,          ///< 80 % of the rate
    intermittent,  ///< a random fraction of the samples is slow
    phases,        ///< alternately healthy and slow
    shared,        ///< slow while other cells run
    counter,       ///< the device counts errors during the run
    throttle,      ///< the device reports a throttle reason
    reorder,       ///< see WriteFault
    drop,          ///< see WriteFault
    drop_flag,     ///< see WriteFault
    flip           ///< a heating product has a wrong bit
  };

  Kind kind = Kind::error;
  std::string endpoint;      ///< label of an endpoint, or "gpu1->gpu2" for one direction
  std::string parameters{};  ///< as given: "=50/10"; empty: defaults
  double loss = 0.2;         ///< fraction of the rate that is lost while slow
  double share = 1;          ///< intermittent: fraction of slow samples
  double phase = 1;          ///< phases: duration of each healthy and each slow phase in seconds
  std::uint32_t seed = 1;    ///< intermittent: random seed of the slow samples
  std::uint64_t every = 1;   ///< corrupt: every `every`-th sample of a cell is wrong

  /// Returns the fault as an option value: "slow:gpu1", "corrupt=7:gpu1".
  std::string text() const;
  /// Returns whether the fault reduces rates.
  bool is_slowness() const;
  /// phases: returns whether the fault is in a slow phase `seconds` after the start.
  bool is_slow_at(double seconds) const;
  /// Returns whether a copy starts or ends at the endpoint, or has the direction of the fault.
  bool touches(const Path& path) const;
  /// Returns whether `label` is the endpoint. The last part of a rank's label suffices: "rank3" for "n1:rank3".
  bool is_at(const std::string& label) const;
  /// Returns whether a program has the fault that runs one cell at a time and has no visibility tests. compared:
  /// whether the program compares data.
  bool can_be_serial(bool compared) const;
  /// Returns the simulated fault of the writer in a visibility test; WriteFault::none for other faults.
  WriteFault write_fault() const;
  /// Returns whether the fault changes a copy. Corruption changes only copies that arrive at the endpoint.
  bool affects(const Path& path) const;
};

/// Returns the types of faults for --help: "error, corrupt, …". only_serial: only types with can_be_serial().
std::string simulated_fault_kinds(bool only_serial = false);

/// Returns the number of corrupt samples among `samples` samples that follow `before` samples, if every `every`-th
/// sample is corrupt.
constexpr std::uint64_t corrupt_samples(std::uint64_t before, std::uint64_t samples, std::uint64_t every) {
  return (before + samples) / every - before / every;
}

/// Parses "KIND[=PARAMETERS]:ENDPOINT". Throws BadInput.
///
/// | KIND | PARAMETERS | default |
/// |---|---|---|
/// | intermittent | LOSS/SHARE[/SEED] in percent | 50/10 |
/// | phases | LOSS/SECONDS, LOSS in percent | 50/1 |
/// | corrupt | N: every Nth sample | 1 |
SimulatedFault parse_simulated_fault(std::string_view text);

/// Throws BadInput if no endpoint has the label of the fault, or if the endpoint cannot have the fault.
void check_fault(const SimulatedFault& fault, const std::vector<Endpoint>& endpoints);

/// Wraps a sampler and adds a fault to all cells with a copy that touches the endpoint. See SimulatedFault::Kind. Back
/// ends simulate the faults of visibility tests.
class FaultySampler final : public Sampler {
 public:
  FaultySampler(Sampler& sampler, const SimulatedFault& fault)
      : sampler_{sampler}, fault_{fault}, random_{fault.seed} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const CellIndex& cell) const override { return sampler_.resources(cell); }
  std::vector<Path> paths(const CellIndex& cell) const override { return sampler_.paths(cell); }
  bool is_available(const CellIndex& cell) const override;
  bool needs_all(const CellIndex& cell) const override { return sampler_.needs_all(cell); }
  CellStatus lost_status(const CellIndex& cell) const override;
  std::vector<Lost> take_lost() override;
  Sensitivity sensitivity() const override { return sampler_.sensitivity(); }
  Clocking clocking() const override { return sampler_.clocking(); }

 private:
  bool touches(const CellIndex& cell) const;
  bool receives_corruption(const CellIndex& cell) const;
  bool is_lost_with_endpoint(const CellIndex& cell) const;
  bool is_slow(std::size_t concurrent_cells, bool in_phase);
  void slow_down(Span& span) const { span.end = span.start + span.seconds() / (1 - fault_.loss); }
  void break_down(const CellIndex& cell, Sampled& answer, Deadline until);
  void corrupt(const CellIndex& cell, Sampled& answer);

  Sampler& sampler_;
  SimulatedFault fault_;
  std::mt19937 random_;
  bool is_lost_ = false, is_announced_ = false;  ///< is_announced_: take_lost() has returned the endpoint
  std::map<CellIndex, std::uint64_t> seen_;      ///< number of samples of each corrupted cell
};

/// Wraps a machine and adds the faults `counter` and `throttle` to the state of a device. The constructor throws as
/// check_fault(), on the root only.
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
  std::optional<std::string> abnormal_end() override { return machine_.abnormal_end(); }
  void dismiss(ExitCode code) override { machine_.dismiss(code); }

 private:
  Machine& machine_;
  SimulatedFault fault_;
  int times_asked_ = 0;
};

}  // namespace linkmatrix
