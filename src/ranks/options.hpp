#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "core/units.hpp"
#include "core/words.hpp"

namespace linkmatrix {

class Backend;
class Machine;

namespace ranks {

/// Which ranks of two nodes form pairs. affine: ranks with the same number, whose adapters are on one rail. crossed:
/// each rank with the next number.
enum class Mapping { affine, crossed };

class Communicator;
class Correspondence;
class Payload;
struct RankFacts;

/// Functions for device memory. Empty in builds without CUDA.
struct DeviceSupport {
  /// Creates the device memory of this rank and adds the device to its facts. number: of this rank on its node. Throws
  /// BadInput if no device is available for the rank, DeviceError if the device does not work.
  std::function<std::unique_ptr<Payload>(Communicator&, int number, RankFacts&)> make_payload;
  /// Returns the topology of this node's devices, and sets their limits.
  std::function<Topology(std::vector<Endpoint>& devices)> discover;
  /// Returns the ranks' devices as one back end with this transport.
  std::function<std::unique_ptr<Backend>(Correspondence&, const Machine&, Transport sharing)> make_backend;
};

struct NetworkOptions {
  Memory memory = Memory::host;
  Transport transport = Transport::automatic;
  DeviceSupport devices{};
  /// Creates the function that answers rank 0's questions, for programs whose ranks of host memory do more than
  /// exchange messages.
  std::function<std::function<std::vector<std::byte>(std::span<const std::byte>)>(Communicator&)> make_answerer{};
  bool huge_pages = true;
  double pair_timeout = 30;        ///< time limit of one cell in seconds
  int window = 64;                 ///< number of messages in flight
  std::size_t pairs_per_node = 0;  ///< 0: one per network adapter of a node; inside a node, all
  Mapping mapping = Mapping::affine;
  std::filesystem::path groups;  ///< file with the groups of the nodes; empty: none
  std::filesystem::path record;  ///< file of the record; the cells of a large matrix are stored next to it
  std::string options;           ///< options as given; must be equal on every rank

  /// Sets `options`. command: the program's arguments, without the program, whose path may differ between nodes.
  void set_command(const std::vector<std::string>& command) {
    options = join({command.begin() + 1, command.end()}, " ");
  }
};

}  // namespace ranks

template <>
struct Words<ranks::Mapping> {
  static constexpr std::string_view name = "mapping";
  static constexpr std::array table{std::pair{ranks::Mapping::affine, "affine"},
                                    std::pair{ranks::Mapping::crossed, "crossed"}};
};

}  // namespace linkmatrix
