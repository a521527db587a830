#pragma once

#include <iosfwd>

#include "core/result.hpp"

namespace linkmatrix {

/// Prints program, host, devices and the topology matrices, with at most `max_display` rows and columns.
void print_head(std::ostream& out, const RecordHead& record, std::size_t max_display);

/// Prints one result: values, parts, verification and schedule, with at most `max_display` rows and columns.
void print_result(std::ostream& out, const MatrixResult& result, std::size_t max_display);

/// Prints the counters that increased during the run.
void print_health(std::ostream& out, const RecordHead& record);

}  // namespace linkmatrix
