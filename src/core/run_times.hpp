#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/words.hpp"

namespace linkmatrix {

/// Phases of a run, whose times --timing prints.
enum class RunPhase {
  start_up,
  devices,
  topology,
  counters,
  allocation,
  calibration,
  measuring,
  verification,
  record,
  exit
};

template <>
struct Words<RunPhase> {
  static constexpr std::string_view name = "phase";
  static constexpr std::array table{
      std::pair{RunPhase::start_up, "start-up"},     std::pair{RunPhase::devices, "devices"},
      std::pair{RunPhase::topology, "topology"},     std::pair{RunPhase::counters, "counters"},
      std::pair{RunPhase::allocation, "allocation"}, std::pair{RunPhase::calibration, "calibration"},
      std::pair{RunPhase::measuring, "measuring"},   std::pair{RunPhase::verification, "verification"},
      std::pair{RunPhase::record, "record"},         std::pair{RunPhase::exit, "exit"}};
};

/// Adds the time of a scope to a phase, without the time of inner scopes. Has no effect on threads other than the first
/// thread of the process.
class InPhase {
 public:
  explicit InPhase(RunPhase phase);
  ~InPhase();
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  RunPhase outer_;
};

/// Begins a phase that lasts until the next call, or until the end of the enclosing InPhase.
void begin_phase(RunPhase phase);

/// Returns a table of the phases with their times in milliseconds, since the program was loaded.
std::string timing_text();

}  // namespace linkmatrix
