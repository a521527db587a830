#pragma once

#include <optional>

#include "core/guarded.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// Measures a plan on its back end. The record's last result must be the plan's result. Throws as measure().
void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& how, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault = std::nullopt);

/// Returns whether the fault changes a measured copy of the plan.
bool has_fault(const Backend& backend, const Plan& plan, const SimulatedFault& fault);

}  // namespace linkmatrix
