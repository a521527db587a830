#include "p2p/options.hpp"
#include "p2p/run.hpp"
#include "program/program_main.hpp"

int main(int argc, char** argv) {
  using namespace linkmatrix;
  return program_main("p2p_matrix", argc, argv, parse_p2p_options, run_p2p);
}
