#pragma once

#include <iosfwd>

#include "core/result.hpp"

namespace linkmatrix {

/// Program, host, devices and the topology matrices.
void print_head(std::ostream& out, const RecordHead& record, std::size_t max_display);

/// One result: its values, its parts, what was verified and how it was scheduled.
void print_result(std::ostream& out, const MatrixResult& result, std::size_t max_display);

/// The counters that rose during the run; nothing where none did.
void print_health(std::ostream& out, const RecordHead& record);

}  // namespace linkmatrix
