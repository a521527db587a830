#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linkmatrix {

/// Rate of one NVLink of a type in one direction, in GB/s. Devices of one generation can have links of different
/// widths.
struct NvlinkKind {
  int version;  ///< generation, 1 to 5
  std::string_view gpus;
  double raw;                    ///< line rate as printed by nvidia-smi; includes coding overhead
  double net;                    ///< rate after coding; utilisation is relative to this rate
  std::optional<double> ce, sm;  ///< largest measured payload rate per engine; nothing: unknown
  std::string_view source;
};

/// Rate of one PCIe lane of a generation in one direction, in GB/s.
struct PcieGeneration {
  int version;
  double raw;                     ///< GT/s over 8
  double net;                     ///< rate after coding; utilisation is relative to this rate
  std::optional<double> payload;  ///< payload rate of writes of 256 bytes with 24 bytes of header, framing and checksum
};

/// Line rate of one port of a network adapter in one direction.
struct AdapterRate {
  std::string_view name;  ///< InfiniBand's name of the speed
  double gigabits;
  std::string_view source;
};

/// Rate of NVLink-C2C, which connects a CPU and a GPU in one package, in GB/s per direction.
struct ChipLink {
  std::string_view gpus;
  double net;
  std::optional<double> ce;  ///< largest measured payload rate of a copy engine; nothing: unknown
  std::string_view source;
};

/// Compute capability of a device: {8, 6} for 8.6.
struct Capability {
  int major = 0, minor = 0;
  auto operator<=>(const Capability&) const = default;
};

/// Returns the NVLink type with this line rate (GB/s, from the driver), else the type of devices with this capability.
/// Returns null if both are unknown.
const NvlinkKind* nvlink_kind(std::optional<double> raw, Capability capability);

/// Returns the CPU-GPU link of devices with this capability. Returns null if unknown.
const ChipLink* chip_link(Capability capability);

/// Returns the net rate of a PCIe slot with `lanes` lanes in GB/s per direction. Returns nothing for an unknown
/// generation.
std::optional<double> pcie_limit(int version, int lanes);

/// Returns the text of --limits.
std::string limits_text();

}  // namespace linkmatrix
