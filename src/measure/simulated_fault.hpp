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

/// A fault that is not there, for drills: does the alarm go off, and does it name the right endpoint?
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
  std::string endpoint;     ///< label; or "gpu1->gpu2": only what goes from the one to the other
  std::string terms{};      ///< as given with the kind, "=50/10"; empty: the default
  double loss = 0.2;        ///< of the rate while it is slow, as a fraction
  double share = 1;         ///< intermittent: of samples that are slow
  double phase = 1;         ///< phases: seconds that it is healthy, and then as many that it is slow
  std::uint32_t seed = 1;   ///< intermittent: which samples are slow
  std::uint64_t every = 1;  ///< corrupt: only every so many-th sample of a cell

  std::string text() const;  ///< "slow:gpu1", "corrupt=7:gpu1"
  bool is_slowness() const;
  /// Of phases, whether it is slow so many seconds after some time.
  bool is_slow_at(double seconds) const;
  /// Whether a copy from the one endpoint to the other is touched. Of ranks the label's last part will do: "rank3".
  bool touches(const Path& path) const;
  bool is_of(const std::string& label) const;
  /// Whether what is measured one cell after the other, and not by flags, can have it; `compared`: what arrives is.
  bool is_of_all(bool compared) const;
  /// What the writing side of a visibility test is to do wrong; none: it is another fault.
  WriteFault write_fault() const;
  /// Whether a copy from the one endpoint to the other has the fault: what is spoiled is what arrives.
  bool has(const Path& path) const;
};

/// "error, corrupt …" for --help; `of_all`: only those that all programs have.
std::string simulated_fault_kinds(bool of_all = false);

/// How many of `samples`, after so many others, are corrupt where every so many-th one is.
constexpr std::uint64_t corrupt_samples(std::uint64_t before, std::uint64_t samples, std::uint64_t every) {
  return (before + samples) / every - before / every;
}

/// Of "KIND:ENDPOINT", "intermittent=LOSS/SHARE:ENDPOINT" or "intermittent=LOSS/SHARE/SEED:ENDPOINT" in percent
/// (50/10), "phases=LOSS/SECONDS:ENDPOINT" (50/1), or "corrupt=N:ENDPOINT" for every Nth sample (1); throws BadInput.
SimulatedFault parse_simulated_fault(std::string_view text);

/// Throws BadInput where the machine has no endpoint of that label, or none that the fault could have.
void check_fault(const SimulatedFault& fault, const std::vector<Endpoint>& endpoints);

/// A sampler with the fault in all cells with a copy that begins or ends at the endpoint: error, they fail, and the
/// endpoint is lost; hang, it waits for the deadline, and the endpoint is lost; corrupt, what arrives there is wrong;
/// slow, at 80 % of the rate; intermittent, slow in a share of its samples at random; phases, slow half of the time;
/// shared, slow while any other cell runs. Writes that a visibility test is to find
/// wrong are none of its: they are made so where they are written.
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
  bool is_lost_ = false, is_told_ = false;
  std::map<Place, std::uint64_t> seen_;  ///< samples of cells that are spoiled
};

/// A machine with the fault in what its devices say of themselves: counter, the endpoint counts errors during the run;
/// throttle, it says that it is held back. What flips a bit of a result is its heating itself. Throws as check_fault.
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
