#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/words.hpp"
#include "device/simulated_fault.hpp"

namespace linkmatrix {

namespace ranks {

/// How the ranks of two nodes pair off where all of them exchange data at once: each with the one of its own number,
/// which has the adapter of the same rail, or with the next one's.
enum class Mapping { affine, crossed };

class Wire;
class Payload;
struct Card;

struct NetworkOptions {
  Memory memory = Memory::host;
  Transport transport = Transport::automatic;
  /// Makes the memory of a device for this rank, the `number`-th of its node, and describes the device in the card;
  /// empty: not built in. Throws BadInput.
  std::function<std::unique_ptr<Payload>(Wire&, int number, Card&)> device_payload;
  bool huge_pages = true;
  double pair_timeout = 30;  ///< seconds of one match
  int window = 64;           ///< messages in flight
  std::size_t lanes = 0;     ///< --pairs-per-node; 0: as many as a node has network adapters, of one node: all
  Mapping mapping = Mapping::affine;
  std::filesystem::path record;  ///< beside it stand the cells of a matrix that is too large for it
  std::string options;           ///< as given: the same on every rank
  std::optional<SimulatedFault> fault{};
};

}  // namespace ranks

template <>
struct Words<ranks::Mapping> {
  static constexpr std::string_view what = "mapping";
  static constexpr std::array table{std::pair{ranks::Mapping::affine, "affine"},
                                    std::pair{ranks::Mapping::crossed, "crossed"}};
};

}  // namespace linkmatrix
