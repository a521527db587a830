#pragma once

#include <filesystem>
#include <string>

#include "core/topology.hpp"

namespace linkmatrix {

/// Description of this machine for the record.
struct HostFacts {
  std::string name;  ///< host name with letters, digits, '.', '_' and '-'
  std::string cpu;   ///< model of the processor
  int cores = 1;     ///< number of cores that this process may use
  int numa_nodes = 1;
};

HostFacts host_facts();

/// Returns HostFacts::name without reading the other facts.
std::string host_name();

/// Returns the kernel release, "6.1.0-18-amd64"; compiler_version() the compiler of this program.
std::string kernel_release();
std::string compiler_version();

/// Returns this machine and its network adapters, from /sys, /proc and /etc below `root`. Facts that are missing or not
/// readable are empty.
NodeFacts node_facts(const std::filesystem::path& root = "/");

/// Returns NodeFacts::boot; "" if unknown.
std::string boot_id(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
