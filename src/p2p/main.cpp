#include <exception>
#include <iomanip>
#include <iostream>
#include <span>

#include "core/limits.hpp"
#include "p2p/options.hpp"
#include "p2p/run.hpp"

namespace {

using namespace linkmatrix;

void print_list() {
  for (const TestCase& testcase : all_testcases())
    std::cout << std::left << std::setw(60) << testcase.name << testcase.description << '\n';
}

ExitCode act(const P2pOptions& options) {
  using Action = P2pOptions::Action;
  switch (options.action) {
    case Action::help:
      std::cout << p2p_help();
      return ExitCode::measured;
    case Action::version:
      std::cout << "linkmatrix p2p_matrix " << LINKMATRIX_VERSION << '\n';
      return ExitCode::measured;
    case Action::list:
      print_list();
      return ExitCode::measured;
    case Action::limits:
      std::cout << limits_text();
      return ExitCode::measured;
    case Action::measure:
    case Action::topology:
      return run_p2p(options);
  }
  return ExitCode::bad_input;
}

ExitCode complain(const std::exception& e, ExitCode code) {
  std::cout << std::flush;
  std::cerr << "p2p_matrix: " << e.what() << std::endl;
  return code;
}

ExitCode guarded(int argc, char** argv) {
  try {
    return act(parse_p2p_options(std::span<char* const>(argv, static_cast<std::size_t>(argc))));
  } catch (const BadInput& e) {
    return complain(e, ExitCode::bad_input);
  } catch (const TimedOut& e) {
    return complain(e, ExitCode::timed_out);
  } catch (const std::exception& e) {
    return complain(e, ExitCode::device_error);
  }
}

}  // namespace

int main(int argc, char** argv) { return static_cast<int>(guarded(argc, argv)); }
