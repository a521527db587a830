#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.hpp"
#include "core/result.hpp"
#include "measure/sampler.hpp"
#include "nbody/check.hpp"
#include "nbody/nbody_case.hpp"

namespace linkmatrix {

/// Result of an operation on all devices of a simulation.
struct NbodyAnswer {
  CellStatus status = CellStatus::ok;  ///< ok, corrupt, timeout or error
  std::string why{};                   ///< one sentence if not ok
  double seconds = 0;                  ///< duration of a run on the slowest device
};

/// Type of verification: check_steps() or check_drift().
enum class Proof { steps, drift };

/// All devices, as seen by the process that measures. A simulation on n devices uses the first n.
class NbodySystem {
 public:
  virtual ~NbodySystem() = default;

  virtual Machine& machine() = 0;
  /// Returns the endpoint labels of the devices, in order.
  virtual std::vector<std::string> devices() const = 0;
  virtual Memory memory() const = 0;
  /// Returns how devices exchange positions.
  virtual std::string transport() const = 0;
  /// Returns how steps are timed, as in the record.
  virtual std::string timing() const = 0;

  /// Prepares a case for run() and find(). seconds: time limit, also below. Throws BadInput if memory is insufficient.
  virtual NbodyAnswer prepare(const NbodyCase& wanted, double seconds) = 0;
  /// Makes `steps` steps of the prepared case.
  virtual NbodyAnswer run(int steps, double seconds) = 0;
  /// Verifies the prepared case on all devices. found: sum of their results. interactions: limit for all devices
  /// together, see check_steps().
  virtual NbodyAnswer verify_once(Proof wanted_proof, double interactions, double seconds, Findings& found) = 0;

  /// Verifies steps of the prepared case. Also verifies all bodies and the energy of small_case(), once per precision
  /// and number of devices. Afterwards no case is prepared.
  NbodyAnswer verify(const NbodyCase& prepared, double seconds);

  /// Returns the status of cells with this number of devices after a loss; nothing if these devices are available.
  virtual std::optional<CellStatus> lost_status(int devices) const = 0;
  virtual std::vector<Lost> take_lost() = 0;

 private:
  std::set<std::pair<Precision, int>> proven_;
};

/// Returns a small number of bodies for a number of devices, with incomplete tiles and parts of different sizes.
NbodyCase small_case(Precision precision, int devices);

/// Number of leapfrog steps of check_drift.
constexpr int drift_steps = 32;

}  // namespace linkmatrix
