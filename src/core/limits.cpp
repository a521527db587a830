#include "core/limits.hpp"

#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace linkmatrix {
namespace {

// NVLink 2, 4 and 5 signal at up to 17/16 of the net rate (forward error correction, 256b/257b coding). Relative to the
// rate of nvidia-smi every link would therefore be 6 % too slow. Payload rates of engines are measured: copy engines
// send packets of up to 256 bytes, kernels packets of 128 bytes.
constexpr auto nvlinks = std::to_array<NvlinkKind>({
    {1, "P100", 20.0, 20.0, {}, {}, "NVIDIA P100 whitepaper: 4 links, 160 GB/s both directions"},
    {2, "V100", 25.781, 25.0, 24.2, {}, "NVIDIA V100 whitepaper: 6 links, 300 GB/s; ce: V100, NV2, CUDA sample"},
    {2, "RTX 2080 RTX 8000", 25.781, 25.0, {}, {}, "NVIDIA Turing whitepaper: TU102 has 2 links, 100 GB/s"},
    {3, "A100 A800", 25.0, 25.0, 23.3, {}, "NVIDIA A100 whitepaper: 12 links, 600 GB/s; ce: A800, NV8, CUDA sample"},
    {3, "A40 A6000 RTX 3090", 14.0625, 14.0625, {}, {}, "NVIDIA GA102 whitepaper: 4 links of 14.0625, 112.5 GB/s"},
    {4, "H100 H200 H800", 26.5625, 25.0, 22.05, 20.8,
     "NVIDIA H100 whitepaper: 18 links, 900 GB/s; ce, sm: H200, NV18, measured 2026-11-21"},
    // NVIDIA GPU Operator, ComputeDomains (2025-07-24): nvbandwidth on GB200, NV18, read 798.02 GB/s. nvbandwidth 0.10
    // on B300, NV18: write 774.57, read 766.34 GB/s. No public run of a kernel over NVLink 5 is known.
    {5,
     "B200 B300 GB200",
     53.125,
     50.0,
     44.33,
     {},
     "NVIDIA Blackwell brief: 18 links, 1800 GB/s; ce: GB200, NV18, GPU Operator documentation"},
});

constexpr auto chip_links = std::to_array<ChipLink>({
    // ce: Machine Learning Engineering, network (2026-03-16): nvbandwidth on GB300, device to host
    {"GH200 GB200 GB300", 450.0, 377.15,
     "NVIDIA Grace Hopper whitepaper: 900 GB/s both directions; ce: GB300, nvbandwidth, ML Engineering"},
    {"GB10", 300.0, {}, "NVIDIA at Hot Chips 2025: 600 GB/s both directions"},
});

/// Links per compute capability, as indices into the tables above; -1: none. Missing devices have neither link (8.9,
/// 12.0) or are unknown.
struct LinksOfCapability {
  Capability capability;
  int nvlink, chip_link;
};
constexpr auto by_capability = std::to_array<LinksOfCapability>({
    {{6, 0}, 0, -1},
    {{7, 0}, 1, -1},
    {{7, 5}, 2, -1},
    {{8, 0}, 3, -1},
    {{8, 6}, 4, -1},
    {{9, 0}, 5, 0},
    {{10, 0}, 6, 0},
    {{10, 3}, 6, 0},
    {{12, 1}, -1, 1},
});

constexpr double same_rate = 0.01;  // drivers round line rates to MB/s; line rates of two types differ by 3 % or more

const LinksOfCapability* links_of(Capability capability) {
  for (const auto& row : by_capability)
    if (row.capability == capability) return &row;
  return nullptr;
}

// PCI Express Base Specification: 8, 16, 32 GT/s with 128b/130b coding. Payload: 256 / (256 + 24), Intel AN 708.
constexpr PcieGeneration pcie(int version, double gigatransfers) {
  const double net = gigatransfers / 8 * 128 / 130;
  return {version, gigatransfers / 8, net, net * 256 / 280};
}
// 64 GT/s: packets of 256 bytes (FLIT) with 236 bytes of transactions, and no other coding. The payload rate of writes
// is unknown.
constexpr PcieGeneration flit_pcie{6, 8.0, 8.0 * 236 / 256, {}};
constexpr std::array<PcieGeneration, 4> pcies{{pcie(3, 8), pcie(4, 16), pcie(5, 32), flit_pcie}};

constexpr std::array<AdapterRate, 4> adapter_rates{{
    {"EDR", 100, "InfiniBand Trade Association: EDR, 4 lanes; 100 Gb/s Ethernet"},
    {"HDR", 200, "InfiniBand Trade Association: HDR, 4 lanes; 200 Gb/s Ethernet"},
    {"NDR", 400, "InfiniBand Trade Association: NDR, 4 lanes; 400 Gb/s Ethernet"},
    {"XDR", 800, "NVIDIA ConnectX-8 firmware 40.44.0208: 800 Gb/s XDR, or 2 ports of 400 Gb/s Ethernet"},
}};

std::string number(std::optional<double> value, int decimals) {
  std::ostringstream out;
  if (value)
    out << std::fixed << std::setprecision(decimals) << *value;
  else
    out << '-';
  return out.str();
}

}  // namespace

const NvlinkKind* nvlink_kind(std::optional<double> raw, Capability capability) {
  if (raw)
    for (const NvlinkKind& kind : nvlinks)
      if (std::abs(kind.raw - *raw) < same_rate * kind.raw) return &kind;
  const LinksOfCapability* row = links_of(capability);
  return row == nullptr || row->nvlink < 0 ? nullptr : &nvlinks[static_cast<std::size_t>(row->nvlink)];
}

const ChipLink* chip_link(Capability capability) {
  const LinksOfCapability* row = links_of(capability);
  return row == nullptr || row->chip_link < 0 ? nullptr : &chip_links[static_cast<std::size_t>(row->chip_link)];
}

std::optional<double> pcie_limit(int version, int lanes) {
  for (const PcieGeneration& generation : pcies)
    if (generation.version == version) return generation.net * lanes;
  return std::nullopt;
}

std::string limits_text() {
  std::ostringstream out;
  out << "One NVLink, one direction, GB/s (1e9 bytes/s). Utilisation: measured rate / net. ce and sm are the largest "
         "measured payloads\nof a copy engine (packets of 256 bytes) and of a kernel (packets of 128 bytes).\n"
      << "generation     raw    net     ce     sm  devices             source\n";
  for (const auto& g : nvlinks)
    out << "NVLink " << g.version << std::setw(11) << number(g.raw, 4) << std::setw(7) << number(g.net, 2)
        << std::setw(7) << number(g.ce, 2) << std::setw(7) << number(g.sm, 2) << "  " << std::left << std::setw(20)
        << g.gpus << std::right << g.source << '\n';
  out << "\nOne PCIe lane and a slot with 16 lanes, one direction, GB/s. Payload: writes of 256 bytes with 24 bytes of "
         "overhead.\n"
      << "generation     raw    net  payload  net x16  payload x16\n";
  for (const auto& g : pcies)
    out << "PCIe " << g.version << std::setw(12) << number(g.raw, 3) << std::setw(7) << number(g.net, 3) << std::setw(9)
        << number(g.payload, 3) << std::setw(9) << number(g.net * 16, 2) << std::setw(13)
        << number(g.payload ? std::optional(*g.payload * 16) : std::nullopt, 2) << '\n';
  out << "\nNVLink-C2C, between CPU and GPU, one direction, GB/s.\n"
      << "devices                  net     ce  source\n";
  for (const auto& c : chip_links)
    out << std::left << std::setw(20) << c.gpus << std::right << std::setw(8) << number(c.net, 1) << std::setw(7)
        << number(c.ce, 1) << "  " << c.source << '\n';
  out << "\nOne port of a network adapter, one direction. A slot of PCIe 5 with 16 lanes carries less than 800 Gb/s.\n"
      << "speed    Gb/s   GB/s  source\n";
  for (const auto& a : adapter_rates)
    out << a.name << std::setw(10) << number(a.gigabits, 0) << std::setw(7) << number(a.gigabits / 8, 1) << "  "
        << a.source << '\n';
  out << "\nTo set the limit of a link class: --limit CLASS=GB/s.\n";
  return out.str();
}

}  // namespace linkmatrix
