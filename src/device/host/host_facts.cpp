#include "device/host/host_facts.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "device/host/adapters.hpp"
#include "device/host/kernel_files.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace

std::string host_name() {
  std::array<char, 256> text{};
  ::gethostname(text.data(), text.size() - 1);
  std::string name(text.data());
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-' && c != '_'; },
      '_');
  const bool starts_with_letter_or_digit = !name.empty() && std::isalnum(static_cast<unsigned char>(name.front()));
  return starts_with_letter_or_digit ? name : "host" + name;
}

HostFacts host_facts() {
  const auto nodes = numa_nodes();
  std::size_t cores = 0;
  for (const NumaNode& node : nodes) cores += node.cores.size();
  return {host_name(), cpu_model(), static_cast<int>(cores), static_cast<int>(nodes.size())};
}

std::string kernel_release() {
  utsname system{};
  return ::uname(&system) == 0 ? system.release : "unknown";
}

std::string compiler_version() {
#ifdef __clang__
  return __VERSION__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string boot_id(const std::filesystem::path& root) { return first_line(root / "proc/sys/kernel/random/boot_id"); }

NodeFacts node_facts(const std::filesystem::path& root) {
  NodeFacts node;
  node.name = host_name();
  node.machine = first_line(root / "etc/machine-id");
  node.serial = first_line(root / "sys/class/dmi/id/product_serial");
  node.product = first_line(root / "sys/class/dmi/id/product_name");
  node.kernel = first_line(root / "proc/sys/kernel/osrelease");
  node.boot = boot_id(root);
  node.bios = first_line(root / "sys/class/dmi/id/bios_version");
  node.board = first_line(root / "sys/class/dmi/id/board_name");
  node.adapters = adapter_ports(root);
  return node;
}

}  // namespace linkmatrix
