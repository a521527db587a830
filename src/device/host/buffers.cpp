#include "device/host/buffers.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/host/available_memory.hpp"
#include "device/host/memory.hpp"
#include "device/host/parts.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t touched_bytes = 64 * MiB;  // touched between two looks at the clock
constexpr double most_elsewhere = 0.05;            // of pages on another node, or of another size: what nobody notices

/// A buffer that is too small, and how large it is to be.
struct Wanted {
  SharedMemory* memory;
  std::uint64_t bytes;
};

/// By endpoint.
using AllWanted = std::map<int, std::vector<Wanted>>;

void want(std::vector<Wanted>& wanted, SharedMemory& memory, std::uint64_t bytes) {
  if (memory && memory->bytes() >= bytes) return;
  const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.memory == &memory; });
  if (known == wanted.end())
    wanted.push_back({&memory, bytes});
  else
    known->bytes = std::max(known->bytes, bytes);
}

AllWanted all_wanted(std::vector<HostStation>& stations, std::span<const Copy> copies) {
  AllWanted wanted;
  const auto at = [&](int endpoint) -> HostStation& { return stations[static_cast<std::size_t>(endpoint)]; };
  for (const Copy& copy : copies) {
    want(wanted[copy.source], at(copy.source).source[copy.source_slot], copy.source_end());
    want(wanted[copy.destination], at(copy.destination).destination[copy.destination_slot], copy.end());
    if (copy.peer_access) continue;
    const int executor = executor_of(stations, copy);
    at(executor).bounces.resize(at(executor).team->most());
    for (SharedMemory& bounce : at(executor).bounces) want(wanted[executor], bounce, bounce_bytes);
  }
  std::erase_if(wanted, [](const auto& item) { return item.second.empty(); });
  return wanted;
}

/// Host memory is one pool, whoever has the buffers.
void check_room(const AllWanted& all) {
  std::uint64_t needed = 0, freed = 0;
  std::size_t buffers = 0;
  for (const auto& [endpoint, wanted] : all)
    for (const Wanted& one : wanted) {
      needed += std::min(one.bytes, std::numeric_limits<std::uint64_t>::max() - needed);
      freed += *one.memory ? (*one.memory)->bytes() : 0;
      ++buffers;
    }
  const std::uint64_t available = available_memory();
  if (needed <= freed || needed - freed <= available) return;
  throw BadInput("--size needs " + std::to_string(buffers) + " buffers of " + std::to_string(needed / MiB) +
                 " MiB in total, and " + std::to_string(available / MiB) +
                 " MiB of host memory are available: use a smaller --size");
}

using Made = std::vector<SharedMemory>;

Made make_here(const std::vector<std::uint64_t>& sizes, bool huge, Deadline deadline) {
  Made made;
  for (const std::uint64_t bytes : sizes) {
    made.push_back(std::make_shared<HostMemory>(bytes, huge));
    for (std::uint64_t at = 0; at < bytes && !deadline.passed(); at += touched_bytes)
      touch_here(*made.back(), at, std::min(touched_bytes, bytes - at));
  }
  return made;
}

std::vector<std::uint64_t> sizes_of(const std::vector<Wanted>& wanted) {
  std::vector<std::uint64_t> sizes;
  for (const Wanted& one : wanted) sizes.push_back(one.bytes);
  return sizes;
}

void take(const std::vector<Wanted>& wanted, const Made& made) {
  for (std::size_t i = 0; i < wanted.size(); ++i) *wanted[i].memory = made[i];
}

/// Of an endpoint without threads.
Made make_on_node(int node, const std::vector<std::uint64_t>& sizes, bool huge, Deadline deadline) {
  const NumaPin pin(node);
  return make_here(sizes, huge, deadline);
}

/// Every thread is waited for, whatever happens to one of them. Returns the endpoints whose thread hangs.
std::vector<int> await_all(std::vector<HostStation>& stations, const AllWanted& all,
                           const std::map<int, std::shared_ptr<Made>>& made, Deadline deadline) {
  std::vector<int> hung;
  std::exception_ptr failure;
  for (const auto& [endpoint, mine] : made) try {
      Worker& thread = *stations[static_cast<std::size_t>(endpoint)].team->threads(1).front();
      if (thread.wait(deadline) || thread.ends_after_all())
        take(all.at(endpoint), *mine);
      else
        hung.push_back(endpoint);
    } catch (...) {
      failure = std::current_exception();
    }
  if (failure) std::rethrow_exception(failure);
  return hung;
}

[[noreturn]] void throw_hung(std::vector<HostStation>& stations, const std::vector<int>& hung,
                             std::span<const Copy> copies) {
  std::vector<CopiesFailed::Failure> failures;
  std::string why;
  for (const int endpoint : hung) {
    HostStation& station = stations[static_cast<std::size_t>(endpoint)];
    why = station.endpoint.label + ": the thread that initializes its buffers hangs";
    station.lost = why;
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].source == endpoint || copies[k].destination == endpoint)
        failures.push_back({k, CellStatus::timeout, endpoint});
  }
  throw CopiesFailed(why, failures);
}

std::vector<std::span<const std::byte>> memories_of(const HostStation& station) {
  std::vector<std::span<const std::byte>> memories;
  const auto add = [&](const SharedMemory& memory) {
    if (memory) memories.emplace_back(memory->data(), memory->bytes());
  };
  for (const auto* slots : {&station.source, &station.destination})
    for (const auto& [slot, memory] : *slots) add(memory);
  for (const SharedMemory& bounce : station.bounces) add(bounce);
  return memories;
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share + 0.5)) + " %"; }

void doubt_nodes(std::span<const HostStation> stations, std::vector<std::string>& doubts) {
  std::set<int> nodes;
  for (const HostStation& station : stations) nodes.insert(station.endpoint.numa);
  if (nodes.size() < 2) return;  // there is no other to lie on
  for (const HostStation& station : stations) {
    double least = 1;
    for (const auto& memory : memories_of(station)) {
      const auto share = share_on_node(memory, station.endpoint.numa);
      if (!share) return doubts.push_back("the kernel does not report the NUMA node of memory"), void();
      least = std::min(least, *share);
    }
    if (least < 1 - most_elsewhere)
      doubts.push_back(percent(1 - least) + " of a buffer of " + station.endpoint.label + " is not on NUMA node " +
                       std::to_string(station.endpoint.numa) + ": its values may be those of another path");
  }
}

void doubt_huge_pages(std::span<const HostStation> stations, bool huge, std::vector<std::string>& doubts) {
  std::vector<std::span<const std::byte>> memories;
  std::uint64_t most = 0;
  for (const HostStation& station : stations)
    for (const auto& memory : memories_of(station)) {
      memories.push_back(memory);
      most += memory.size() / huge_page_bytes * huge_page_bytes;
    }
  std::ifstream smaps("/proc/self/smaps");
  const auto found = huge_bytes(smaps, memories);
  if (!found || most == 0) return;
  const double share = static_cast<double>(std::min(*found, most)) / static_cast<double>(most);
  if (huge ? share >= 1 - most_elsewhere : share <= most_elsewhere) return;
  doubts.push_back(percent(share) + " of the buffers are in huge pages, which were " + (huge ? "" : "not ") +
                   "requested (transparent_hugepage/enabled: " + huge_page_setting() + ")");
}

}  // namespace

int executor_of(std::span<const HostStation> stations, const Copy& copy) {
  if (stations[static_cast<std::size_t>(copy.initiator())].team) return copy.initiator();
  return copy.source == copy.initiator() ? copy.destination : copy.source;
}

int other_end_of(std::span<const HostStation> stations, const Copy& copy) {
  return executor_of(stations, copy) == copy.source ? copy.destination : copy.source;
}

void reserve_buffers(std::vector<HostStation>& stations, std::span<const Copy> copies, bool huge, Deadline deadline) {
  const AllWanted all = all_wanted(stations, copies);
  check_room(all);
  std::map<int, std::shared_ptr<Made>> made;  // with its thread, which may hang
  for (const auto& [endpoint, wanted] : all) {
    HostStation& station = stations[static_cast<std::size_t>(endpoint)];
    for (const Wanted& one : wanted) one.memory->reset();
    if (!station.team) continue;
    const auto mine = made[endpoint] = std::make_shared<Made>();
    station.team->threads(1).front()->start(
        [mine, sizes = sizes_of(wanted), huge, deadline] { *mine = make_here(sizes, huge, deadline); });
  }
  for (const auto& [endpoint, wanted] : all)
    if (HostStation& station = stations[static_cast<std::size_t>(endpoint)]; !station.team)
      take(wanted, make_on_node(station.endpoint.numa, sizes_of(wanted), huge, deadline));
  if (const auto hung = await_all(stations, all, made, deadline); !hung.empty()) throw_hung(stations, hung, copies);
  if (deadline.passed()) throw TimedOut("the buffers were not ready in time");
}

std::vector<std::string> doubts_of_buffers(std::span<const HostStation> stations, bool huge) {
  std::vector<std::string> doubts;
  doubt_nodes(stations, doubts);
  doubt_huge_pages(stations, huge, doubts);
  return doubts;
}

}  // namespace linkmatrix
