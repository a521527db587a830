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

/// What all devices of a simulation answer to one thing that they did.
struct NbodyAnswer {
  CellStatus status = CellStatus::ok;  ///< ok, corrupt, timeout or error
  std::string why{};                   ///< one sentence where it is not ok
  double seconds = 0;                  ///< of a run: of the slowest
};

/// What is looked for of what was prepared.
enum class Proof { steps, drift };

/// All devices that can take part, as the process sees them that says what is done: a simulation on n has the first n.
class NbodySystem {
 public:
  virtual ~NbodySystem() = default;

  virtual Machine& machine() = 0;
  /// By label, in their order.
  virtual std::vector<std::string> devices() const = 0;
  virtual Memory memory() const = 0;
  /// How positions get from one to another.
  virtual std::string transport() const = 0;
  /// How steps are timed, in the record's word.
  virtual std::string timing() const = 0;
  /// Bodies of a simulation that are measured where nobody says others, rising.
  virtual std::vector<std::uint64_t> default_bodies() const = 0;

  /// What was prepared last is what runs and is verified. Throws BadInput where memory is not to be had.
  virtual NbodyAnswer prepare(const NbodyCase& wanted, double seconds) = 0;
  virtual NbodyAnswer run(int steps, double seconds) = 0;
  /// `interactions`, of all devices together: as for `check_steps`.
  virtual NbodyAnswer find(Proof wanted_proof, double interactions, double seconds, Findings& found) = 0;

  /// Of what was prepared; and, once for each number of devices and each precision, every body of a few, and what
  /// becomes of their energy. Afterwards nothing is prepared.
  NbodyAnswer verify(const NbodyCase& prepared, double seconds);

  /// How every cell of so many devices ends because one is not there any more; nothing if all are.
  virtual std::optional<CellStatus> lost_as(int devices) const = 0;
  virtual std::vector<Lost> take_lost() = 0;

 private:
  std::set<std::pair<Precision, int>> proven_;
};

/// A few bodies on so many devices: no whole tiles, and parts of different sizes.
NbodyCase small_case(Precision precision, int devices);

/// Steps of leapfrog in `check_drift`.
constexpr int drift_steps = 32;

}  // namespace linkmatrix
