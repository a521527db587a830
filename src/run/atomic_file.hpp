#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace linkmatrix {

/// Writes a file completely or not at all: writes and syncs a temporary file in the same folder, then renames it.
/// Returns the system's error text; "" if the file was written or discarded.
///
/// number: part of the temporary file's name; concurrent calls use different numbers. is_current: called before the
/// rename; false discards the text.
std::string write_whole(const std::string& text, const std::filesystem::path& file, int number,
                        const std::function<bool()>& is_current);

/// Removes the temporary file of an unfinished write with this number.
void remove_partial(const std::filesystem::path& file, int number);

/// Returns the target of a symbolic link, so that the link remains; other paths are returned unchanged. Throws BadInput
/// for special files in /dev and /proc.
std::filesystem::path target_of(const std::filesystem::path& file);

/// Throws BadInput if `file` cannot be written. Called before the first measurement.
void check_writable(const std::filesystem::path& file);

}  // namespace linkmatrix
