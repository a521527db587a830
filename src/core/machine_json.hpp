#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// What a record says of where it was measured: host, nodes, adapters, devices and how these are connected.
void write_machine(JsonWriter& writer, const RecordHead& record);

/// Other processes and what they disturbed; nothing where nothing was polled.
void write_others(JsonWriter& writer, const std::optional<Activity>& others);

/// null for what is not known.
inline std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace linkmatrix
