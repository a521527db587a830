#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linkmatrix {

/// Rates of one NVLink in GB/s per direction. Devices of one generation can have links of different widths.
struct NvlinkKind {
  int version;                   ///< generation, 1 to 5
  std::string_view gpus;         ///< GPUs with this link
  double raw;                    ///< line rate, as printed by nvidia-smi
  double net;                    ///< line rate without coding; utilisation is relative to this rate
  std::optional<double> ce, sm;  ///< largest measured payload rate per engine; nothing: unknown
  std::string_view source;       ///< publication of these numbers
};

/// Rates of one PCIe lane in GB/s per direction.
struct PcieGeneration {
  int version;
  double raw;                     ///< GT/s divided by 8
  double net;                     ///< line rate without coding; utilisation is relative to this rate
  std::optional<double> payload;  ///< rate of writes of 256 bytes with 24 bytes of header, framing and checksum
};

/// Line rate of one network port per direction.
struct AdapterRate {
  std::string_view name;  ///< InfiniBand's name of the speed: "NDR"
  double gigabits;        ///< Gb/s
  std::string_view source;
};

/// Rates of NVLink-C2C, which connects a CPU and a GPU in one package, in GB/s per direction.
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

/// Returns the NVLink type with the line rate `raw` in GB/s (within 1 %), as reported by the driver. If `raw` is
/// unknown, returns the type of devices with this capability. Returns null for an unknown type.
const NvlinkKind* nvlink_kind(std::optional<double> raw, Capability capability);

/// Returns the CPU-GPU link of devices with this capability. Returns null if unknown.
const ChipLink* chip_link(Capability capability);

/// Returns the net rate of a PCIe slot with `lanes` lanes in GB/s per direction. Returns nothing for an unknown
/// generation.
std::optional<double> pcie_limit(int version, int lanes);

/// Returns the text of --limits.
std::string limits_text();

}  // namespace linkmatrix
