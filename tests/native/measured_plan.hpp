#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "core/error.hpp"
#include "core/units.hpp"
#include "p2p/measure_plan.hpp"
#include "result_facts.hpp"
#include "scripted_backend.hpp"

namespace linkmatrix {

/// Returns the test case with a name.
inline const TestCase& testcase(std::string_view name) {
  for (const TestCase& t : all_testcases())
    if (t.name == name) return t;
  throw std::logic_error("no such test case");
}

inline const TestCase& one_way = testcase("device_to_device_memcpy_write_ce");
inline const TestCase& bidirectional_write = testcase("device_to_device_bidirectional_memcpy_write_ce");

inline double at_10_gigabytes(const Copy& copy, std::size_t) { return static_cast<double>(copy.bytes) / 10e9; }

/// Returns times at 10 GB/s, multiplied by a factor from device 1 to device 2.
inline auto slow_from_1_to_2_by(double factor) {
  return [factor](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (copy.source == 1 && copy.destination == 2 ? factor : 1.0);
  };
}

/// Returns the record of a run of the plan.
inline Record run_of(ScriptedBackend& backend, const Plan& plan, const MeasureOptions& options = {},
                     const std::optional<SimulatedFault>& fault = std::nullopt) {
  Guarded<Record> record;
  record.change([&](Record& r) { r.results.push_back(plan.result); });
  measure_plan(backend, plan, options, Deadline::in(60), record, fault);
  return record.read([](const Record& r) { return r; });
}

/// Returns the record of a test case with 100 MiB per copy.
inline Record record_of(ScriptedBackend& backend, std::string_view name) {
  return run_of(backend, make_plan(testcase(name), backend, {.bytes = 100 * MiB}));
}

inline MatrixResult measured(ScriptedBackend& backend, const Plan& plan, const MeasureOptions& options = {},
                             const std::optional<SimulatedFault>& fault = std::nullopt) {
  return run_of(backend, plan, options, fault).results.back();
}

inline MatrixResult measured(ScriptedBackend& backend, const TestCase& t, const MeasureOptions& options = {}) {
  return measured(backend, make_plan(t, backend, {.bytes = 100 * MiB}), options);
}

/// Returns the result of a measurement that ends with an exception of type Failure.
template <class Failure>
MatrixResult interrupted(ScriptedBackend& backend, const Plan& plan, const MeasureOptions& options) {
  Guarded<Record> record;
  record.change([&](Record& r) { r.results.push_back(plan.result); });
  EXPECT_THROW(measure_plan(backend, plan, options, Deadline::in(60), record), Failure);
  return record.read([](const Record& r) { return r.results.back(); });
}

}  // namespace linkmatrix
