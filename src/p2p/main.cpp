#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <span>
#include <sstream>

#include "core/limits.hpp"
#include "p2p/options.hpp"
#include "p2p/run.hpp"
#include "run/memory_reserve.hpp"
#include "run/output.hpp"
#include "run/signals.hpp"

namespace {

using namespace linkmatrix;

constexpr const char* program = "p2p_matrix";

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
  std::cerr << program << ": " << ending.error.value_or("") << std::endl;
  std::_Exit(static_cast<int>(ExitCode::device_error));
}

std::string list() {
  std::ostringstream out;
  for (const TestCase& testcase : all_testcases())
    out << std::left << std::setw(60) << testcase.name << testcase.description << '\n';
  return out.str();
}

ExitCode print(const std::string& text) {
  Output output(STDOUT_FILENO);
  output.print(text);
  if (const auto why = output.failure()) throw BadInput(*why);
  return ExitCode::measured;
}

ExitCode run(const P2pOptions& options) {
  // Never destroyed: it watches until the process is gone, over what the libraries do at the very end too.
  supervising = new Supervisor({.program = program});
  return run_p2p(options, *supervising);
}

ExitCode act(const P2pOptions& options) {
  using Action = P2pOptions::Action;
  switch (options.action) {
    case Action::help:
      return print(p2p_help());
    case Action::version:
      return print("linkmatrix p2p_matrix " LINKMATRIX_VERSION "\n");
    case Action::list:
      return print(list());
    case Action::limits:
      return print(limits_text());
    case Action::measure:
    case Action::topology:
      return run(options);
  }
  return ExitCode::bad_input;
}

ExitCode guarded(int argc, char** argv) {
  try {
    return act(parse_p2p_options(std::span<char* const>(argv, static_cast<std::size_t>(argc))));
  } catch (const std::exception& e) {
    const Ending ending = ending_of(e);
    std::cerr << program << ": " << ending.error.value_or("") << std::endl;
    return ending.code;
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  keep_memory_back();
  std::set_terminate(end_in_order);
  return static_cast<int>(guarded(argc, argv));
}
