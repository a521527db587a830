#include "nbody/options.hpp"
#include "nbody/run.hpp"
#include "program/program_main.hpp"

int main(int argc, char** argv) {
  using namespace linkmatrix;
  return program_main("nbody_scaling", argc, argv, parse_nbody_options, run_nbody);
}
