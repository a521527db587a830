#pragma once

#include <optional>

#include "core/guarded.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {

/// Measures a plan on the back end it was made for; its result is the record's last. Throws as measure() does.
void measure_plan(Backend& backend, const Plan& plan, const MeasureOptions& how, Deadline deadline,
                  Guarded<Record>& record, const std::optional<SimulatedFault>& fault = std::nullopt);

/// Whether a copy that the plan measures has the fault.
bool has_fault(const Backend& backend, const Plan& plan, const SimulatedFault& fault);

}  // namespace linkmatrix
