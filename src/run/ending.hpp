#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// How a run ends: the word of its last line and of its record, and its exit code.
struct Ending {
  std::string_view word = "ERROR";
  ExitCode code = ExitCode::device_error;
  std::optional<std::string> error{};  ///< a sentence
};

inline Ending passed() { return {"PASS", ExitCode::measured, {}}; }
inline Ending failed() { return {"FAIL", ExitCode::failed, {}}; }
inline Ending broken(std::string why) { return {"ERROR", ExitCode::device_error, std::move(why)}; }
inline Ending refused(std::string why) { return {"ERROR", ExitCode::bad_input, std::move(why)}; }
inline Ending late(std::string why) { return {"TIMEOUT", ExitCode::timed_out, std::move(why)}; }

/// Of a run that was not broken off, what its record says. Passes only what is whole: every test case that was to be
/// measured has its results, no endpoint was lost, all cells were measured and those to be verified are.
Ending judge(const Record& record);

/// A sentence for any exception: what the system does not give is said with the limit that it may come from. Neither
/// this nor `ending_of` throws, not for want of memory either.
std::string sentence_of(const std::exception& e);

/// The ending that an exception stands for.
Ending ending_of(const std::exception& e);

}  // namespace linkmatrix
