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

/// Result of one operation of all devices of a simulation.
struct NbodyAnswer {
  CellStatus status = CellStatus::ok;  ///< ok, corrupt, timeout or error
  std::string why{};                   ///< one sentence if not ok
  double seconds = 0;                  ///< duration of a run on the slowest device
};

/// Type of verification.
enum class Proof { steps, drift };

/// All devices, as seen by the controlling process. A simulation on n devices uses the first n.
class NbodySystem {
 public:
  virtual ~NbodySystem() = default;

  virtual Machine& machine() = 0;
  /// Returns the devices as endpoints, in their order.
  virtual std::vector<std::string> devices() const = 0;
  virtual Memory memory() const = 0;
  /// Returns how devices exchange positions.
  virtual std::string transport() const = 0;
  /// Returns how steps are timed, as in the record.
  virtual std::string timing() const = 0;

  /// Prepares a case; later calls run and verify the last prepared one. Throws BadInput if memory is insufficient.
  virtual NbodyAnswer prepare(const NbodyCase& wanted, double seconds) = 0;
  virtual NbodyAnswer run(int steps, double seconds) = 0;
  /// interactions: of all devices together; see check_steps().
  virtual NbodyAnswer find(Proof wanted_proof, double interactions, double seconds, Findings& found) = 0;

  /// Verifies the prepared case, and once per number of devices and precision all bodies of a small case and the drift
  /// of its energy. Afterwards no case is prepared.
  NbodyAnswer verify(const NbodyCase& prepared, double seconds);

  /// Returns the status of all cells with this number of devices after a loss; nothing if all are available.
  virtual std::optional<CellStatus> lost_as(int devices) const = 0;
  virtual std::vector<Lost> take_lost() = 0;

 private:
  std::set<std::pair<Precision, int>> proven_;
};

/// Returns a small number of bodies for a number of devices, with incomplete tiles and parts of different sizes.
NbodyCase small_case(Precision precision, int devices);

/// Number of leapfrog steps of check_drift.
constexpr int drift_steps = 32;

}  // namespace linkmatrix
