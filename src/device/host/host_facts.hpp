#pragma once

#include <filesystem>
#include <string>

#include "core/topology.hpp"

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

/// This machine and its network adapters, as the kernel lists them below `root`: /sys, /proc and /etc. What is not
/// there, or not readable by this user, is left empty.
NodeFacts node_facts(const std::filesystem::path& root = "/");

/// NodeFacts::boot alone; empty where the kernel does not tell.
std::string boot_id(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
