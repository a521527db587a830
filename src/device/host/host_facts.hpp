#pragma once

#include <string>

namespace linkmatrix {

/// This machine, for the record of every back end.
struct HostFacts {
  std::string name;  ///< host name, of letters, digits, '.', '_' and '-'
  std::string cpu;   ///< model
  int cores = 1;     ///< that this process may run on
  int numa_nodes = 1;
};

HostFacts host_facts();

/// "6.1.0-18-amd64", and the compiler this was built with.
std::string kernel_release();
std::string compiler_version();

}  // namespace linkmatrix
