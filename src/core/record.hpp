#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/result.hpp"

namespace linkmatrix {

/// The record as JSON, schema linkmatrix.record/2 (reports/linkmatrix/record/record.schema.json).
std::string to_json(const Record& record);

/// One of its results as JSON.
std::string to_json(const MatrixResult& result);

/// A result as JSON; shared, for one that is finished is formatted once for all checkpoints.
using ResultText = std::shared_ptr<const std::string>;

/// The record with results that are text already.
std::string to_json(const RecordHead& record, std::span<const ResultText> results);

/// "2026-11-21T08:00:00Z".
std::string utc_now();

}  // namespace linkmatrix
