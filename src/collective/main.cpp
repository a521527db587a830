#include "collective/options.hpp"
#include "collective/run.hpp"
#include "program/program_main.hpp"

int main(int argc, char** argv) {
  using namespace linkmatrix;
  return program_main("collective_perf", argc, argv, parse_collective_options, run_collectives);
}
