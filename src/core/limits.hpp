#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linkmatrix {

/// What one NVLink of a generation can carry in one direction, in GB/s.
struct NvlinkGeneration {
  int version;  ///< as NVML counts: 1 to 5
  std::string_view gpus;
  double raw;  ///< signalling rate, what nvidia-smi prints; not a limit for data
  double net;  ///< after coding: the denominator of utilisation
  std::string_view source;
};

std::span<const NvlinkGeneration> nvlink_generations();

/// Net GB/s of `links` bonded NVLinks in one direction; nothing for an unknown generation.
std::optional<double> nvlink_limit(int version, int links);

/// The table as text, for --limits.
std::string limits_text();

}  // namespace linkmatrix
