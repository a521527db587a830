#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// End of a run: the word of its last line and record, and its exit code.
struct Ending {
  std::string_view word = "ERROR";
  ExitCode code = ExitCode::device_error;
  std::optional<std::string> error{};  ///< one sentence, for runs that failed
};

inline Ending passed() { return {"PASS", ExitCode::measured, {}}; }
inline Ending failed() { return {"FAIL", ExitCode::failed, {}}; }
inline Ending broken(std::string why) { return {"ERROR", ExitCode::device_error, std::move(why)}; }
inline Ending refused(std::string why) { return {"ERROR", ExitCode::bad_input, std::move(why)}; }
inline Ending late(std::string why) { return {"TIMEOUT", ExitCode::timed_out, std::move(why)}; }

/// Returns the ending of a complete run from its record. PASS requires results of all expected test cases, all cells
/// measured and verified, and no lost endpoint.
Ending judge(const Record& record);

/// Returns one sentence for an exception. If the system refused a resource, the sentence names the limit. This function
/// and `ending_of` never throw, even without memory.
std::string sentence_of(const std::exception& e);

/// Returns the ending for an exception.
Ending ending_of(const std::exception& e);

}  // namespace linkmatrix
