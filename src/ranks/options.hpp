#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "core/words.hpp"

namespace linkmatrix {

class Backend;
class Machine;

namespace ranks {

/// How the ranks of two nodes pair off where all of them exchange data at once: each with the one of its own number,
/// which has the adapter of the same rail, or with the next one's.
enum class Mapping { affine, crossed };

class Communicator;
class Correspondence;
class Payload;
struct RankFacts;

/// What a build with CUDA can do of devices; empty: not built in.
struct DeviceSupport {
  /// Makes the memory of a device for this rank, the `number`-th of its node, and describes the device in its facts.
  /// Throws BadInput where the rank should have none, DeviceError where the device does not work.
  std::function<std::unique_ptr<Payload>(Communicator&, int number, RankFacts&)> make_payload;
  /// The links between the devices of this node, whose own limits it fills in; empty: nothing is known of them.
  std::function<Topology(std::vector<Endpoint>& devices)> discover;
  /// The ranks' devices as one back end, whose memory they share so; empty: nothing is copied between them.
  std::function<std::unique_ptr<Backend>(Correspondence&, const Machine&, Transport sharing)> make_backend;
};

struct NetworkOptions {
  Memory memory = Memory::host;
  Transport transport = Transport::automatic;
  DeviceSupport devices{};
  /// Makes what answers rank 0's questions where ranks of host memory do more than exchange messages.
  std::function<std::function<std::vector<std::byte>(std::span<const std::byte>)>(Communicator&)> make_answerer{};
  bool huge_pages = true;
  double pair_timeout = 30;        ///< seconds of one cell
  int window = 64;                 ///< messages in flight
  std::size_t pairs_per_node = 0;  ///< 0: as many as a node has network adapters, of one node: all
  Mapping mapping = Mapping::affine;
  std::filesystem::path groups;  ///< file with the groups of the nodes; empty: none is known
  std::filesystem::path record;  ///< beside it stand the cells of a matrix that is too large for it
  std::string options;           ///< as given: the same on every rank
};

}  // namespace ranks

template <>
struct Words<ranks::Mapping> {
  static constexpr std::string_view name = "mapping";
  static constexpr std::array table{std::pair{ranks::Mapping::affine, "affine"},
                                    std::pair{ranks::Mapping::crossed, "crossed"}};
};

}  // namespace linkmatrix
