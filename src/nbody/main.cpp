#include <span>

#include "nbody/options.hpp"
#include "nbody/run.hpp"
#include "program/program_main.hpp"

namespace {

using namespace linkmatrix;

constexpr const char* program = "nbody_scaling";

std::string list() {
  std::string text;
  for (const NbodySeries& one : nbody_series()) text += one.name() + "\n";
  return text;
}

ExitCode act(const NbodyOptions& options) {
  using Action = NbodyOptions::Action;
  switch (options.action) {
    case Action::help:
      return print_text(nbody_help());
    case Action::list:
      return print_text(list());
    case Action::version:
      return print_text("linkmatrix nbody_scaling " LINKMATRIX_VERSION "\n");
    case Action::measure:
      return run_nbody(options, supervisor_of(program));
  }
  return ExitCode::bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(
      program, [&] { return act(parse_nbody_options(std::span<char* const>(argv, static_cast<std::size_t>(argc)))); });
}
