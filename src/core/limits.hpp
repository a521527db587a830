#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linkmatrix {

/// What one NVLink of a kind can carry in one direction, in GB/s: the devices of one generation may have links of
/// different widths.
struct NvlinkKind {
  int version;  ///< generation, 1 to 5
  std::string_view gpus;
  double raw;                    ///< line rate, what nvidia-smi prints; not a limit for data
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

/// NVLink-C2C, which joins a CPU and a GPU in one package, in GB/s of one direction.
struct ChipLink {
  std::string_view gpus;
  double net;
  std::string_view source;
};

/// Compute capability of a device, 8.6 is {8, 6}.
struct Capability {
  int major = 0, minor = 0;
  auto operator<=>(const Capability&) const = default;
};

/// The kind of NVLink with this line rate (GB/s, as the driver says), else that of devices of this capability; null
/// where neither is known.
const NvlinkKind* nvlink_kind(std::optional<double> raw, Capability capability);

/// The link between CPU and GPU of a device of this capability, should it have one; null: not known.
const ChipLink* chip_link(Capability capability);

/// Net GB/s of a PCIe slot of `lanes` in one direction; nothing for an unknown generation.
std::optional<double> pcie_limit(int version, int lanes);

/// The tables as text, for --limits.
std::string limits_text();

}  // namespace linkmatrix
