#include "core/limits.hpp"

#include <array>
#include <iomanip>
#include <sstream>

namespace linkmatrix {
namespace {

// NVLink 4 and 5 signal 17/16 of the net rate (forward error correction and 256b/257b coding): dividing by what
// nvidia-smi prints would make every link look 6 % worse than it is.
constexpr std::array<NvlinkGeneration, 5> generations{{
    {1, "P100", 20.0, 20.0, "NVIDIA P100 whitepaper: 4 links, 160 GB/s both directions"},
    {2, "V100", 25.781, 25.0, "NVIDIA V100 whitepaper: 6 links, 300 GB/s both directions"},
    {3, "A100 A800", 25.0, 25.0, "NVIDIA A100 whitepaper: 12 links, 600 GB/s both directions"},
    {4, "H100 H200 H800", 26.5625, 25.0, "NVIDIA H100 whitepaper: 18 links, 900 GB/s both directions"},
    {5, "B100 B200", 53.125, 50.0, "NVIDIA Blackwell brief: 18 links, 1800 GB/s both directions"},
}};

}  // namespace

std::span<const NvlinkGeneration> nvlink_generations() { return generations; }

std::optional<double> nvlink_limit(int version, int links) {
  for (const auto& generation : generations)
    if (generation.version == version) return generation.net * links;
  return std::nullopt;
}

std::string limits_text() {
  std::ostringstream out;
  out << "One NVLink, one direction, GB/s (1e9 bytes/s)\n"
      << "generation    raw     net  devices         source\n"
      << std::fixed;
  for (const auto& g : generations)
    out << "NVLink " << g.version << std::setw(12) << std::setprecision(4) << g.raw << std::setw(8)
        << std::setprecision(2) << g.net << "  " << std::left << std::setw(16) << g.gpus << std::right << g.source
        << '\n';
  return out.str();
}

}  // namespace linkmatrix
