#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/nbody_sampler.hpp"
#include "nbody/nbody_system.hpp"

namespace linkmatrix {

/// A test case: a precision and a scaling.
struct NbodySeries {
  Precision precision = Precision::f32;
  Scaling scaling = Scaling::strong;

  std::string name() const;  ///< "nbody_float_strong"
  bool operator==(const NbodySeries&) const = default;
};

/// Returns all series.
std::vector<NbodySeries> nbody_series();

/// Returns the text of --list.
std::string nbody_list();

/// Returns the series of "NAME[,NAME…]". Throws BadInput for a duplicate or unknown name, with the nearest known one.
std::vector<NbodySeries> named_series(std::string_view names);

/// One result: a number of bodies (per device for weak scaling) on each number of devices.
struct NbodyPlan {
  NbodySeries series{};
  std::uint64_t bodies = 0;
};

/// Returns the default numbers of bodies on GPUs (Memory::device) or cores (Memory::host), ascending. On GPUs up to
/// 2^20: two H200 have the same rate with 2^18, 2^20 and 2^22 bodies (81 TFLOP/s), and 2^22 took 51 s of 63 s.
std::vector<std::uint64_t> default_bodies(Memory memory);

/// Returns 1, 2, 4 … and the number of all devices.
std::vector<int> usual_counts(int devices);

/// Returns a label, "1-device" or "2-devices".
std::string column_of(int devices);

/// Returns the bodies of a plan on a number of devices.
std::uint64_t bodies_on(const NbodyPlan& plan, int devices);

/// Throws BadInput if a device would have less than one tile of bodies. counts: numbers of devices.
void refuse_too_few_bodies(const NbodyPlan& plan, const std::vector<int>& counts);

/// Returns the simulation of each cell: row 0, and one column per number of devices.
NbodySampler::Cases cases_of(const NbodyPlan& plan, const std::vector<int>& counts);

/// Returns the result of a plan, described but not yet measured.
MatrixResult result_of(const NbodyPlan& plan, const NbodySampler::Cases& cases, const NbodySystem& system);

/// Adds the parts bodies, time of a step, speedup and efficiency. Speedup: rate / rate of the first column. Efficiency:
/// speedup / (devices / devices of the first column).
void add_figures(const NbodySampler::Cases& cases, MatrixResult& result);

/// Returns a table of the results of one precision and scaling, one number of bodies per line.
std::string scaling_table(const std::vector<MatrixResult>& results);

}  // namespace linkmatrix
