#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// Result of a run: word in its last line ("Result: PASS") and record, and exit code.
struct Ending {
  std::string_view word = "ERROR";
  ExitCode code = ExitCode::device_error;
  std::optional<std::string> error{};  ///< one sentence; nothing for PASS and FAIL
};

inline Ending passed() { return {"PASS", ExitCode::measured, {}}; }
inline Ending failed() { return {"FAIL", ExitCode::failed, {}}; }
inline Ending broken(std::string why) { return {"ERROR", ExitCode::device_error, std::move(why)}; }
inline Ending refused(std::string why) { return {"ERROR", ExitCode::bad_input, std::move(why)}; }
inline Ending late(std::string why) { return {"TIMEOUT", ExitCode::timed_out, std::move(why)}; }

/// Returns the ending of a run that ended by itself. PASS requires a result for every expected test case, all cells
/// measured and verified, and no lost endpoint.
Ending judge(const Record& record);

/// Returns one sentence for an exception. If the system refused memory, a thread or a file, names the limit to raise.
/// Never throws, even without memory.
std::string sentence_of(const std::exception& e);

/// Returns the ending for an exception: BadInput, TimedOut or any other. Never throws.
Ending ending_of(const std::exception& e);

}  // namespace linkmatrix
