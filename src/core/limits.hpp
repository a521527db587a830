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
  double raw;                    ///< signalling rate, what nvidia-smi prints; not a limit for data
  double net;                    ///< after coding: the denominator of utilisation
  std::optional<double> ce, sm;  ///< the best measured payload of each engine; nothing: not known
  std::string_view source;
};

/// What one PCIe lane of a generation can carry in one direction, in GB/s.
struct PcieGeneration {
  int version;
  double raw;      ///< GT/s over 8
  double net;      ///< after coding: the denominator of utilisation
  double payload;  ///< in writes of 256 bytes, each with 24 of header, framing and checksum
};

std::span<const NvlinkGeneration> nvlink_generations();
std::span<const PcieGeneration> pcie_generations();

/// Net GB/s of `links` bonded NVLinks in one direction; nothing for an unknown generation.
std::optional<double> nvlink_limit(int version, int links);

/// Net GB/s of a PCIe slot of `lanes` in one direction; nothing for an unknown generation.
std::optional<double> pcie_limit(int version, int lanes);

/// The tables as text, for --limits.
std::string limits_text();

}  // namespace linkmatrix
