#include "program/program_main.hpp"

#include <cstdlib>
#include <exception>

#include "run/memory_reserve.hpp"
#include "run/output.hpp"
#include "run/signals.hpp"

namespace linkmatrix {
namespace {

const char* running = "";
Supervisor* supervising = nullptr;

/// Nothing can catch what a function throws that is said to throw nothing, as some of the standard library do for want
/// of memory: that run too has its record.
[[noreturn]] void end_in_order() {
  Ending ending = broken("std::terminate");  // short enough to need no memory
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    ending = ending_of(e);
  } catch (...) {  // it says nothing of itself
  }
  if (supervising != nullptr) supervising->break_off(std::move(ending));
  say(running, ending.error.value_or(""));
  std::_Exit(static_cast<int>(ExitCode::device_error));
}

}  // namespace

Supervisor& supervisor_of(const char* program) {
  if (supervising == nullptr) supervising = new Supervisor({.program = program});
  return *supervising;
}

ExitCode print_text(const std::string& text) {
  Output output(STDOUT_FILENO);
  output.print(text);
  if (const auto why = output.failure()) throw BadInput(*why);
  return ExitCode::measured;
}

int program_main(const char* program, const std::function<ExitCode()>& act) {
  running = program;
  hold_standard_streams();
  keep_memory_back();
  std::set_terminate(end_in_order);
  try {
    return static_cast<int>(act());
  } catch (const std::exception& e) {
    const Ending ending = ending_of(e);
    say(program, ending.error.value_or(""));
    return static_cast<int>(ending.code);
  }
}

}  // namespace linkmatrix
