#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// Writes the machine of a record: host, nodes, adapters, devices and topology.
void write_machine(JsonWriter& writer, const RecordHead& record);

/// Writes the member `others`: other processes and disturbances. Writes null without a poll.
void write_others(JsonWriter& writer, const std::optional<Activity>& others);

/// Returns nothing (JSON null) for an empty text.
inline std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace linkmatrix
