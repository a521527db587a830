#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// Versions of the libraries that move messages, as those say that MPI has loaded into this process: UCX, libfabric and
/// GDRCopy, and of the kernel's part of GDRCopy. What is not loaded is left out.
Software transport_versions();

/// The file of the library among a process's mappings, lines as of /proc/self/maps; empty where it is not loaded.
/// name: "libucp" of libucp.so.0.0.0, but not of libucp_cuda.so.
std::string library_file(const std::vector<std::string>& mappings, const std::string& name);

}  // namespace linkmatrix::ranks
