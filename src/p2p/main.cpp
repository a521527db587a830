#include <iomanip>
#include <span>
#include <sstream>

#include "core/limits.hpp"
#include "p2p/options.hpp"
#include "p2p/run.hpp"
#include "program/program_main.hpp"

namespace {

using namespace linkmatrix;

constexpr const char* program = "p2p_matrix";

std::string list() {
  std::ostringstream out;
  for (const TestCase& testcase : all_testcases())
    out << std::left << std::setw(60) << testcase.name << testcase.description << '\n';
  return out.str();
}

ExitCode act(const P2pOptions& options) {
  using Action = P2pOptions::Action;
  switch (options.action) {
    case Action::help:
      return print_text(p2p_help());
    case Action::version:
      return print_text("linkmatrix p2p_matrix " LINKMATRIX_VERSION "\n");
    case Action::list:
      return print_text(options.list_as_json ? testcases_json() : list());
    case Action::limits:
      return print_text(limits_text());
    case Action::measure:
    case Action::topology:
      return run_p2p(options, supervisor_of(program));
  }
  return ExitCode::bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(
      program, [&] { return act(parse_p2p_options(std::span<char* const>(argv, static_cast<std::size_t>(argc)))); });
}
