#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace linkmatrix {

/// Writes a file whole or not at all: to a temporary name beside it, synced, then renamed. `still_wanted` is asked
/// before the file takes its name: one that took too long must not replace what was written since. Returns why it
/// could not be written, as the system says it; empty: it was, or was not wanted any more. `number` tells the temporary
/// names of a process apart.
std::string write_whole(const std::string& text, const std::filesystem::path& file, int number,
                        const std::function<bool()>& is_current);

/// Removes what a write that did not come to its end has left under that number.
void remove_partial(const std::filesystem::path& file, int number);

/// The file itself, or where a link leads to, which stays a link. Throws BadInput for what the system keeps in /dev and
/// /proc.
std::filesystem::path target_of(const std::filesystem::path& file);

/// Throws BadInput if `file` could not be written at the end: asked before anything is measured.
void check_writable(const std::filesystem::path& file);

}  // namespace linkmatrix
