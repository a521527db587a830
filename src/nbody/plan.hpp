#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "nbody/nbody_sampler.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/series.hpp"

namespace linkmatrix {

/// What is measured as one result: some bodies, of one device where the scaling is weak, on each number of devices.
struct NbodyPlan {
  NbodySeries series{};
  std::uint64_t bodies = 0;
};

/// 1, 2, 4 … and all of them.
std::vector<int> usual_counts(int devices);

/// "1-device", "2-devices".
std::string column_of(int devices);

/// Bodies of a plan on so many devices.
std::uint64_t bodies_on(const NbodyPlan& plan, int devices);

/// Throws BadInput where a device would have fewer bodies than a tile.
void refuse_too_few_bodies(const NbodyPlan& plan, const std::vector<int>& counts);

NbodySampler::Cases cases_of(const NbodyPlan& plan, const std::vector<int>& counts);

/// The result of a plan, shaped and described, nothing of it measured.
MatrixResult result_of(const NbodyPlan& plan, const NbodySampler::Cases& cases, const NbodySystem& system);

/// Adds, beside the rates: bodies, time of a step, how many times as fast as the first number of devices, and the
/// efficiency: the rate over that of as many times the first number's.
void add_figures(const NbodySampler::Cases& cases, MatrixResult& result);

/// Every number of bodies of a precision and a scaling as a table, a line each.
std::string scaling_table(const std::vector<MatrixResult>& results);

}  // namespace linkmatrix
