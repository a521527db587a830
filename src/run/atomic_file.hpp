#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace linkmatrix {

/// Writes a file completely or not at all: writes and syncs a temporary file in the same folder, then renames it.
/// is_current: called before the rename; false discards the text, because a newer one exists. number: distinguishes the
/// temporary files of a process. Returns the system's error text, or "" if the file was written or discarded.
std::string write_whole(const std::string& text, const std::filesystem::path& file, int number,
                        const std::function<bool()>& is_current);

/// Removes the temporary file of an unfinished write with that number.
void remove_partial(const std::filesystem::path& file, int number);

/// Returns the file, or the target of a symbolic link, which remains a link. Throws BadInput for special files in /dev
/// and /proc.
std::filesystem::path target_of(const std::filesystem::path& file);

/// Throws BadInput if `file` cannot be written. Called before the first measurement.
void check_writable(const std::filesystem::path& file);

}  // namespace linkmatrix
