#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/backend.hpp"
#include "device/cuda/gate.hpp"
#include "device/cuda/stations.hpp"

namespace linkmatrix::cuda {

/// Puts copies between stations into streams, waits for them, and fills and compares their buffers.
class CopyWork {
 public:
  /// Keeps a reference to the stations, one for each endpoint.
  CopyWork(std::vector<Station>& stations, HostMemoryKind host_memory)
      : stations_{stations}, host_memory_{host_memory} {}

  /// The device that makes a copy: the initiator, or where that is host memory, the other end.
  Station& executor(const Copy& copy) const;
  /// "gpu0->gpu3".
  std::string pair_text(const Copy& copy) const;
  /// Whether one end is host memory.
  bool with_host(const Copy& copy) const;
  /// Whether any copy is moved piece by piece by the driver on the host, as without peer access or of pageable memory:
  /// it waits for the device, behind a closed gate for ever. What the host does then belongs to the measured time.
  bool staged(std::span<const Copy> copies) const;

  /// Calls `work(k, station, lane)` for each copy on the device that executes it, with a lane of its own.
  template <class Work>
  void for_each_lane(std::span<const Copy> copies, const Work& work) const {
    std::map<Station*, std::size_t> taken;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      Station& on = executor(copies[k]);
      on.use();
      work(k, on, on.lane(taken[&on]++));
    }
  }

  /// `background`: how often a background copy is made for each repeat of the others.
  void enqueue(const Copy& copy, Station& on, Lane& lane, int repeats, int background, Gate& gate) const;
  /// The other end of a flag, held by the gate.
  void enqueue_answer(const Copy& copy, int repeats, Gate& gate) const;
  /// What a finished copy took. The loads of a chase are timed on the device.
  CopyTime time(const Copy& copy, const Station& on, const Lane& lane, int repeats, int background) const;
  /// The ring lies in the source's memory and is written by the device that will chase: with the addresses that it
  /// sees.
  void build_ring(const Copy& copy) const;
  /// Puts a flag down in the memory of its source, and of its destination.
  void reset_source_flag(const Copy& copy) const;
  void reset_destination_flag(const Copy& copy) const;

  /// Throws TimedOut naming the first pair that is not done.
  void wait(std::span<const Copy> copies, Deadline deadline) const;

  void fill(const Copy& copy, std::uint64_t seed) const;
  void spoil(const Copy& copy) const;
  PatternCheck compare(const Copy& copy, std::uint64_t seed) const;

 private:
  Station& station(int endpoint) const { return stations_[static_cast<std::size_t>(endpoint)]; }
  std::byte* source(const Copy& copy) const {
    return station(copy.source).source.at(copy.source_slot).data() + copy.offset;
  }
  std::byte* destination(const Copy& copy) const {
    return station(copy.destination).destination.at(copy.destination_slot).data() + copy.offset;
  }
  KernelCopy kernel_copy(const Copy& copy, int repeats) const;
  void enqueue_chain(const Copy& copy, Station& on, Lane& lane, int repeats, Gate& gate) const;

  std::vector<Station>& stations_;
  HostMemoryKind host_memory_;
};

}  // namespace linkmatrix::cuda
