#include <iomanip>
#include <span>
#include <sstream>

#include "collective/options.hpp"
#include "collective/run.hpp"
#include "program/program_main.hpp"

namespace {

using namespace linkmatrix;

constexpr const char* program = "collective_perf";

std::string list() {
  std::ostringstream out;
  for (const auto& testcase : collective_testcases())
    out << std::left << std::setw(44) << testcase.name << testcase.description << '\n';
  return out.str();
}

ExitCode act(const CollectiveOptions& options) {
  using Action = CollectiveOptions::Action;
  switch (options.action) {
    case Action::help:
      return print_text(collective_help());
    case Action::version:
      return print_text("linkmatrix collective_perf " LINKMATRIX_VERSION "\n");
    case Action::list:
      return print_text(list());
    case Action::measure:
      return run_collectives(options, supervisor_of(program));
  }
  return ExitCode::bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(program, [&] {
    return act(parse_collective_options(std::span<char* const>(argv, static_cast<std::size_t>(argc))));
  });
}
