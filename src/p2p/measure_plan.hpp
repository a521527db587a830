#pragma once

#include <optional>

#include "core/guarded.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// Measures a plan on its back end, into the record's last result. Throws as measure().
void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& how, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault = std::nullopt);

/// Returns whether a measured copy of the plan has the fault.
bool has_fault(const Backend& backend, const Plan& plan, const SimulatedFault& fault);

}  // namespace linkmatrix
