#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace linkmatrix {

/// The record as JSON, schema linkmatrix.record/1 (reports/linkmatrix/record.schema.json).
std::string to_json(const Record& record);

/// Writes the record whole or not at all: to a file beside it, then renamed. Throws BadInput naming the file.
void write_record(const Record& record, const std::filesystem::path& file);

/// Throws BadInput if `file` could not be written at the end: asked before anything is measured.
void check_writable(const std::filesystem::path& file);

/// "2026-11-21T08:00:00Z".
std::string utc_now();

}  // namespace linkmatrix
