#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix {

// Enumerations and their spellings on the command line, in tables and in the record.

/// Operation of a copy. `copy` moves bytes. The others are chains of dependent 8-byte accesses. chase: loads through a
/// ring of pointers. atomic: additions. flag: a flag that two devices exchange. visibility: see core/visibility.hpp.
enum class Operation { copy, chase, atomic, flag, visibility };
enum class Engine { ce, sm, mpi, nccl };
enum class Kernel { cached, noncached, bulk };
enum class Direction { write, read };
/// Measured quantity. compute: rate of a computation, only in nbody_scaling.
enum class Metric { bandwidth, bidirectional, latency, compute };
enum class Memory { device, host };
enum class Concurrency { automatic, serial, rounds, bisection, matchings };
enum class HostPages { pinned, pageable };
/// Purpose of a matching. random: random pairs of all endpoints. suspects: suspected endpoints with healthy partners.
/// confirm: findings again, after a pause.
enum class Purpose { random, suspects, confirm };
/// Transport between ranks. mpi: messages. fd, fabric, ipc: the device maps the memory of the other rank by file
/// descriptor, fabric handle or CUDA IPC. staged: through pinned host memory in pieces.
enum class Transport { automatic, mpi, fd, fabric, ipc, staged };
/// Type of a disturbance (core/disturbances.hpp): context on a device, cores, network adapter, or device memory.
enum class DisturbanceKind { context, cpu, adapter, memory };
/// Why an endpoint was lost: its device failed, its process does not answer, or other processes hold its memory.
enum class LossKind { device, process, memory };

/// Spellings of an enumeration: `name` for messages, and `table` of pairs (value, spelling).
template <class E>
struct Words;

template <>
struct Words<Engine> {
  static constexpr std::string_view name = "engine";
  static constexpr std::array table{std::pair{Engine::ce, "ce"}, std::pair{Engine::sm, "sm"},
                                    std::pair{Engine::mpi, "mpi"}, std::pair{Engine::nccl, "nccl"}};
};
template <>
struct Words<Kernel> {
  static constexpr std::string_view name = "kernel";
  static constexpr std::array table{std::pair{Kernel::cached, "cached"}, std::pair{Kernel::noncached, "noncached"},
                                    std::pair{Kernel::bulk, "bulk"}};
};
template <>
struct Words<Direction> {
  static constexpr std::string_view name = "direction";
  static constexpr std::array table{std::pair{Direction::write, "write"}, std::pair{Direction::read, "read"}};
};
template <>
struct Words<Metric> {
  static constexpr std::string_view name = "metric";
  static constexpr std::array table{std::pair{Metric::bandwidth, "bandwidth"},
                                    std::pair{Metric::bidirectional, "bidirectional"},
                                    std::pair{Metric::latency, "latency"}};
};
template <>
struct Words<Memory> {
  static constexpr std::string_view name = "memory";
  static constexpr std::array table{std::pair{Memory::device, "device"}, std::pair{Memory::host, "host"}};
};
template <>
struct Words<Concurrency> {
  static constexpr std::string_view name = "concurrency";
  static constexpr std::array table{
      std::pair{Concurrency::automatic, "auto"},      std::pair{Concurrency::serial, "serial"},
      std::pair{Concurrency::serial, "isolated"},     std::pair{Concurrency::rounds, "rounds"},
      std::pair{Concurrency::bisection, "bisection"}, std::pair{Concurrency::matchings, "matchings"}};
};

template <>
struct Words<Purpose> {
  static constexpr std::string_view name = "purpose";
  static constexpr std::array table{std::pair{Purpose::random, "random"}, std::pair{Purpose::suspects, "suspects"},
                                    std::pair{Purpose::confirm, "confirm"}};
};

template <>
struct Words<HostPages> {
  static constexpr std::string_view name = "host memory";
  static constexpr std::array table{std::pair{HostPages::pinned, "pinned"}, std::pair{HostPages::pageable, "pageable"}};
};

template <>
struct Words<Transport> {
  static constexpr std::string_view name = "transport";
  static constexpr std::array table{std::pair{Transport::automatic, "auto"}, std::pair{Transport::mpi, "mpi"},
                                    std::pair{Transport::fd, "fd"},          std::pair{Transport::fabric, "fabric"},
                                    std::pair{Transport::ipc, "ipc"},        std::pair{Transport::staged, "staged"}};
};

template <>
struct Words<DisturbanceKind> {
  static constexpr std::string_view name = "disturbance";
  static constexpr std::array table{
      std::pair{DisturbanceKind::context, "context"}, std::pair{DisturbanceKind::cpu, "cpu"},
      std::pair{DisturbanceKind::adapter, "adapter"}, std::pair{DisturbanceKind::memory, "memory"}};
};

template <>
struct Words<LossKind> {
  static constexpr std::string_view name = "loss";
  static constexpr std::array table{std::pair{LossKind::device, "device"}, std::pair{LossKind::process, "process"},
                                    std::pair{LossKind::memory, "memory"}};
};

template <class E>
constexpr std::string_view word(E value) {
  for (const auto& [e, text] : Words<E>::table)
    if (e == value) return text;
  return "?";
}

/// The table of Metric lacks `compute`, because --metric cannot select it.
constexpr std::string_view word(Metric value) { return value == Metric::compute ? "compute" : word<Metric>(value); }

/// Returns all spellings for messages and --help: "a, b or c".
template <class E>
std::string all_words() {
  std::string out;
  for (std::size_t i = 0; i < Words<E>::table.size(); ++i) {
    if (i > 0) out += i + 1 == Words<E>::table.size() ? " or " : ", ";
    out += Words<E>::table[i].second;
  }
  return out;
}

/// Returns the value of a spelling. Throws BadInput for an unknown spelling.
template <class E>
E parse_word(std::string_view text) {
  for (const auto& [e, known] : Words<E>::table)
    if (text == known) return e;
  throw BadInput("unknown " + std::string(Words<E>::name) + " '" + std::string(text) + "': use " + all_words<E>());
}

}  // namespace linkmatrix
