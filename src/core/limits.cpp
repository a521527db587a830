#include "core/limits.hpp"

#include <array>
#include <iomanip>
#include <sstream>

namespace linkmatrix {
namespace {

// NVLink 4 and 5 signal 17/16 of the net rate (forward error correction and 256b/257b coding): dividing by what
// nvidia-smi prints would make every link look 6 % worse than it is. The engines' payloads are measured: copy engines
// send packets of up to 256 bytes, kernels of 128, so neither can reach the net rate.
constexpr std::array<NvlinkGeneration, 5> nvlinks{{
    {1, "P100", 20.0, 20.0, {}, {}, "NVIDIA P100 whitepaper: 4 links, 160 GB/s both directions"},
    {2, "V100", 25.781, 25.0, 24.2, {}, "NVIDIA V100 whitepaper: 6 links, 300 GB/s; ce: V100, NV2, CUDA sample"},
    {3, "A100 A800", 25.0, 25.0, 23.3, {}, "NVIDIA A100 whitepaper: 12 links, 600 GB/s; ce: A800, NV8, CUDA sample"},
    {4, "H100 H200 H800", 26.5625, 25.0, 22.05, 20.8,
     "NVIDIA H100 whitepaper: 18 links, 900 GB/s; ce, sm: H200, NV18, measured 2026-11-21"},
    {5, "B100 B200", 53.125, 50.0, {}, {}, "NVIDIA Blackwell brief: 18 links, 1800 GB/s both directions"},
}};

// PCI Express Base Specification: 8, 16, 32 GT/s with 128b/130b coding. Payload: 256 / (256 + 24), Intel AN 708.
constexpr PcieGeneration pcie(int version, double gigatransfers) {
  const double net = gigatransfers / 8 * 128 / 130;
  return {version, gigatransfers / 8, net, net * 256 / 280};
}
constexpr std::array<PcieGeneration, 3> pcies{{pcie(3, 8), pcie(4, 16), pcie(5, 32)}};

template <class Generations>
std::optional<double> limit_of(const Generations& generations, int version, int count) {
  for (const auto& generation : generations)
    if (generation.version == version) return generation.net * count;
  return std::nullopt;
}

std::string number(std::optional<double> value, int decimals) {
  std::ostringstream out;
  if (value)
    out << std::fixed << std::setprecision(decimals) << *value;
  else
    out << '-';
  return out.str();
}

}  // namespace

std::span<const NvlinkGeneration> nvlink_generations() { return nvlinks; }
std::span<const PcieGeneration> pcie_generations() { return pcies; }

std::optional<double> nvlink_limit(int version, int links) { return limit_of(nvlinks, version, links); }
std::optional<double> pcie_limit(int version, int lanes) { return limit_of(pcies, version, lanes); }

std::string limits_text() {
  std::ostringstream out;
  out << "One NVLink, one direction, GB/s (1e9 bytes/s). Utilisation is measured / net; ce and sm are the best "
         "payload\n"
         "that a copy engine (packets of 256 bytes) or a kernel (of 128) was seen to carry.\n"
      << "generation     raw    net     ce     sm  devices         source\n";
  for (const auto& g : nvlinks)
    out << "NVLink " << g.version << std::setw(11) << number(g.raw, 4) << std::setw(7) << number(g.net, 2)
        << std::setw(7) << number(g.ce, 2) << std::setw(7) << number(g.sm, 2) << "  " << std::left << std::setw(16)
        << g.gpus << std::right << g.source << '\n';
  out << "\nOne PCIe lane, and a slot of 16, one direction, GB/s. Payload: writes of 256 bytes with 24 of overhead.\n"
      << "generation     raw    net  payload  net x16  payload x16\n";
  for (const auto& g : pcies)
    out << "PCIe " << g.version << std::setw(12) << number(g.raw, 3) << std::setw(7) << number(g.net, 3) << std::setw(9)
        << number(g.payload, 3) << std::setw(9) << number(g.net * 16, 2) << std::setw(13) << number(g.payload * 16, 2)
        << '\n';
  out << "\nOther limits, for a class of links: --limit CLASS=GB/s.\n";
  return out.str();
}

}  // namespace linkmatrix
