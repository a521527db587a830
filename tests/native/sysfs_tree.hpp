#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "confined.hpp"

namespace linkmatrix {

/// Makes the kernel's files of a machine below `root`/sys, from a description
/// in tests/data/adapters: a line for each PCI function, with the bridges that
/// it is behind, each RDMA adapter and each network interface, with the texts
/// of files.
///
///   pci; pci0000:15/0000:15:01.0/0000:16:00.0; class=0x020700; numa_node=0
///   ib; mlx5_0; 0000:16:00.0; fw_ver=28.39.1002; ports/1/state=4: ACTIVE
///   net; ib0; 0000:16:00.0; operstate=up; master=bond0
///
/// A description that would write elsewhere, or link there, throws std::runtime_error.
class SysfsTree {
 public:
  explicit SysfsTree(const std::filesystem::path& root) : sys_{root / "sys"} {
    std::filesystem::create_directories(sys_);
  }

  void add(const std::string& description) {
    std::ifstream in(description);
    if (!in) throw std::runtime_error("cannot read " + description);
    for (std::string line; std::getline(in, line);)
      if (!line.empty() && line.front() != '#') add_line(line);
  }

 private:
  void add_line(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream rest(line);
    for (std::string word; std::getline(rest >> std::ws, word, ';');) words.push_back(word);
    const bool is_pci = words.at(0) == "pci";
    const std::filesystem::path folder =
        is_pci ? sys_ / "devices" / words.at(1)
               : device(words.at(2)) / (words.at(0) == "ib" ? "infiniband" : "net") / words.at(1);
    std::filesystem::create_directories(confined(sys_, folder));
    if (is_pci)
      link(sys_ / "bus/pci/devices" / folder.filename(), folder);
    else
      link(sys_ / "class" / folder.parent_path().filename() / folder.filename(), folder);
    if (!is_pci && words.at(2) != "-") link(folder / "device", device(words.at(2)));
    for (std::size_t i = is_pci ? 2 : 3; i < words.size(); ++i) {
      const auto equals = words.at(i).find('=');
      const std::string name = words.at(i).substr(0, equals), text = words.at(i).substr(equals + 1);
      name == "master" ? link(folder / name, sys_ / "class/net" / text) : write(folder / name, text);
    }
  }

  /// Returns the device of "0000:18:00.0" or "0000:00:03.0/virtio2"; of "-", the folder of virtual devices.
  std::filesystem::path device(const std::string& place) const {
    if (place == "-") return sys_ / "devices/virtual";
    const auto slash = place.find('/');
    const auto function = std::filesystem::canonical(sys_ / "bus/pci/devices" / place.substr(0, slash));
    return slash == std::string::npos ? function : function / place.substr(slash + 1);
  }

  void link(const std::filesystem::path& name, const std::filesystem::path& target) const {
    std::filesystem::create_directories(confined(sys_, name).parent_path());
    std::filesystem::create_symlink(confined(sys_, target), name);
  }

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories(confined(sys_, file).parent_path());
    std::ofstream(file) << text << '\n';
  }

  std::filesystem::path sys_;
};

}  // namespace linkmatrix
