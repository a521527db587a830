#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/result.hpp"

namespace linkmatrix {

/// Returns the record as JSON, schema linkmatrix.record/2 (reports/linkmatrix/record/record.schema.json).
std::string to_json(const Record& record);

/// Returns one result as JSON.
std::string to_json(const MatrixResult& result);

/// A result as JSON text. Shared, because a finished result is formatted once for all checkpoints.
using ResultText = std::shared_ptr<const std::string>;

/// Returns the record as JSON. results: the results, already formatted.
std::string to_json(const RecordHead& record, std::span<const ResultText> results);

/// Returns the current time in UTC, "2026-11-21T08:00:00Z".
std::string utc_now();

}  // namespace linkmatrix
