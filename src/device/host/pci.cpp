#include "device/host/pci.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> classes{"PIX", "PXB", "PHB", "NODE"};  // the nearest first, without SYS
// Prefixes of the kernel's `class`: 3D controllers, other display controllers, accelerators.
constexpr std::array<std::string_view, 3> accelerators{"0x0302", "0x0380", "0x1200"};
// Vendors whose VGA controllers are GPUs. Those of other vendors serve the console.
constexpr std::array<std::string_view, 2> makers_of_gpus{"0x10de", "0x1002"};

bool is_address(const std::string& name) {  // 0000:18:00.0
  return name.size() >= 12 && std::count(name.begin(), name.end(), ':') == 2 && name[name.size() - 2] == '.';
}

bool is_root(const std::string& name) { return name.starts_with("pci"); }  // pci0000:15

bool is_gpu(const fs::path& device) {
  const std::string what = first_line(device / "class");
  const auto begins = [&](std::string_view with) { return what.starts_with(with); };
  if (begins("0x0300")) return std::ranges::find(makers_of_gpus, first_line(device / "vendor")) != makers_of_gpus.end();
  return std::ranges::any_of(accelerators, begins);
}

std::size_t rank_of(const std::string& link_class) {
  return static_cast<std::size_t>(std::ranges::find(classes, link_class) - classes.begin());
}

std::string class_of(const PciPlace& a, const PciPlace& b, std::size_t shared) {
  if (shared == 0) {  // no common host bridge
    if (a.numa < 0 || b.numa < 0) return "";
    return a.numa == b.numa ? "NODE" : "SYS";
  }
  if (shared == 1) return "PHB";
  // A switch has one upstream bridge, which is shared, and one further bridge per port.
  return std::max(a.path.size(), b.path.size()) - shared <= 2 ? "PIX" : "PXB";
}

}  // namespace

PciPlace pci_place(const fs::path& device) {
  std::error_code failure;
  const fs::path real = fs::canonical(device, failure);
  if (failure || !is_address(real.filename().string())) return {};
  PciPlace place;
  for (const fs::path& part : real)
    if (is_root(part.string()) || is_address(part.string())) place.path.push_back(part);
  const std::string numa = first_line(real / "numa_node");
  place.numa = numa.empty() ? -1 : std::atoi(numa.c_str());
  return place;
}

std::vector<PciPlace> gpus_below(const fs::path& root) {
  std::vector<PciPlace> found;
  for (const fs::path& device : entries(root / "sys/bus/pci/devices"))
    if (is_gpu(device))
      if (PciPlace place = pci_place(device); !place.path.empty()) found.push_back(std::move(place));
  return found;
}

GpuPath path_between(const PciPlace& adapter, const PciPlace& gpu) {
  const auto [a, b] = std::ranges::mismatch(adapter.path, gpu.path);
  const auto shared = static_cast<std::size_t>(a - adapter.path.begin());
  return {gpu.address(), class_of(adapter, gpu, shared), shared == 0 ? 0 : static_cast<int>(shared) - 1, false};
}

bool is_nearer(const GpuPath& one, const GpuPath& other) {
  const std::size_t mine = rank_of(one.link_class), others = rank_of(other.link_class);
  return mine < others || (mine == others && mine < classes.size() && one.bridges > other.bridges);
}

}  // namespace linkmatrix
