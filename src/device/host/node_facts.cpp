#include "device/host/node_facts.hpp"

#include "device/host/adapters.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {

std::string boot_id(const std::filesystem::path& root) { return line_of(root / "proc/sys/kernel/random/boot_id"); }

NodeFacts node_facts(const std::filesystem::path& root) {
  NodeFacts node;
  node.name = host_facts().name;
  node.machine = line_of(root / "etc/machine-id");
  node.serial = line_of(root / "sys/class/dmi/id/product_serial");
  node.product = line_of(root / "sys/class/dmi/id/product_name");
  node.kernel = line_of(root / "proc/sys/kernel/osrelease");
  node.boot = boot_id(root);
  node.bios = line_of(root / "sys/class/dmi/id/bios_version");
  node.board = line_of(root / "sys/class/dmi/id/board_name");
  node.adapters = adapter_ports(root);
  return node;
}

}  // namespace linkmatrix
