#pragma once

#include <filesystem>
#include <string>

#include "core/topology.hpp"

namespace linkmatrix {

/// This machine and its network adapters, as the kernel lists them below `root`: /sys, /proc and /etc. What is not
/// there, or not readable by this user, is left empty.
NodeFacts node_facts(const std::filesystem::path& root = "/");

/// NodeFacts::boot alone; empty where the kernel does not tell.
std::string boot_id(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
