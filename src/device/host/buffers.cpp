#include "device/host/buffers.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/host/memory.hpp"
#include "device/host/parts.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t touched_bytes = 64 * MiB;  // bytes between two polls of the deadline
constexpr double most_elsewhere = 0.05;            // tolerated fraction of pages on another node or of another size

/// A buffer that is too small, and its required size.
struct Wanted {
  SharedMemory* memory;
  std::uint64_t bytes;
};

/// Buffers by endpoint.
using AllWanted = std::map<int, std::vector<Wanted>>;

void want(std::vector<Wanted>& wanted, SharedMemory& memory, std::uint64_t bytes) {
  if (memory && memory->bytes() >= bytes) return;
  const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.memory == &memory; });
  if (known == wanted.end())
    wanted.push_back({&memory, bytes});
  else
    known->bytes = std::max(known->bytes, bytes);
}

AllWanted all_wanted(std::vector<HostEndpointState>& endpoint_states, std::span<const Copy> copies) {
  AllWanted wanted;
  const auto at = [&](int endpoint) -> HostEndpointState& {
    return endpoint_states[static_cast<std::size_t>(endpoint)];
  };
  for (const Copy& copy : copies) {
    want(wanted[copy.source], at(copy.source).source[copy.source_slot], copy.source_end());
    want(wanted[copy.destination], at(copy.destination).destination[copy.destination_slot], copy.end());
    if (copy.peer_access) continue;
    const int executor = copying_endpoint(endpoint_states, copy);
    at(executor).bounces.resize(at(executor).team->most());
    for (SharedMemory& bounce : at(executor).bounces) want(wanted[executor], bounce, bounce_bytes);
  }
  std::erase_if(wanted, [](const auto& item) { return item.second.empty(); });
  return wanted;
}

/// Host memory is one pool for all buffers.
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
                 " MiB in total, but only " + std::to_string(available / MiB) +
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

/// Allocates the buffers of an endpoint without threads.
Made make_on_node(int node, const std::vector<std::uint64_t>& sizes, bool huge, Deadline deadline) {
  const NumaPin pin(node);
  return make_here(sizes, huge, deadline);
}

/// Waits for every thread, also after a failure. Returns the endpoints whose thread hangs.
std::vector<int> await_all(std::vector<HostEndpointState>& endpoint_states, const AllWanted& all,
                           const std::map<int, std::shared_ptr<Made>>& made, Deadline deadline) {
  std::vector<int> hung;
  std::exception_ptr failure;
  for (const auto& [endpoint, mine] : made) try {
      Worker& thread = *endpoint_states[static_cast<std::size_t>(endpoint)].team->threads(1).front();
      if (thread.wait(deadline) || thread.wait_after_deadline())
        take(all.at(endpoint), *mine);
      else
        hung.push_back(endpoint);
    } catch (...) {
      failure = std::current_exception();
    }
  if (failure) std::rethrow_exception(failure);
  return hung;
}

[[noreturn]] void throw_hung(std::vector<HostEndpointState>& endpoint_states, const std::vector<int>& hung,
                             std::span<const Copy> copies) {
  std::vector<CopiesFailed::Failure> failures;
  std::string why;
  for (const int endpoint : hung) {
    HostEndpointState& endpoint_state = endpoint_states[static_cast<std::size_t>(endpoint)];
    why = endpoint_state.endpoint.label + ": the thread that initializes its buffers hangs";
    endpoint_state.lost = why;
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].source == endpoint || copies[k].destination == endpoint)
        failures.push_back({k, CellStatus::timeout, endpoint});
  }
  throw CopiesFailed(why, failures);
}

std::vector<std::span<const std::byte>> memories_of(const HostEndpointState& endpoint_state) {
  std::vector<std::span<const std::byte>> memories;
  const auto add = [&](const SharedMemory& memory) {
    if (memory) memories.emplace_back(memory->data(), memory->bytes());
  };
  for (const auto* slots : {&endpoint_state.source, &endpoint_state.destination})
    for (const auto& [slot, memory] : *slots) add(memory);
  for (const SharedMemory& bounce : endpoint_state.bounces) add(bounce);
  return memories;
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share + 0.5)) + " %"; }

void doubt_nodes(std::span<const HostEndpointState> endpoint_states, std::vector<std::string>& doubts) {
  std::set<int> nodes;
  for (const HostEndpointState& endpoint_state : endpoint_states) nodes.insert(endpoint_state.endpoint.numa);
  if (nodes.size() < 2) return;
  for (const HostEndpointState& endpoint_state : endpoint_states) {
    double least = 1;
    for (const auto& memory : memories_of(endpoint_state)) {
      const auto share = share_on_node(memory, endpoint_state.endpoint.numa);
      if (!share) return doubts.push_back("the kernel does not report the NUMA node of memory"), void();
      least = std::min(least, *share);
    }
    if (least < 1 - most_elsewhere)
      doubts.push_back(percent(1 - least) + " of a buffer of " + endpoint_state.endpoint.label +
                       " is not on NUMA node " + std::to_string(endpoint_state.endpoint.numa) +
                       ": copies of this buffer may use another path");
  }
}

void doubt_huge_pages(std::span<const HostEndpointState> endpoint_states, bool huge, std::vector<std::string>& doubts) {
  std::vector<std::span<const std::byte>> memories;
  std::uint64_t most = 0;
  for (const HostEndpointState& endpoint_state : endpoint_states)
    for (const auto& memory : memories_of(endpoint_state)) {
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

int copying_endpoint(std::span<const HostEndpointState> endpoint_states, const Copy& copy) {
  if (endpoint_states[static_cast<std::size_t>(copy.initiator())].team) return copy.initiator();
  return copy.source == copy.initiator() ? copy.destination : copy.source;
}

int other_endpoint(std::span<const HostEndpointState> endpoint_states, const Copy& copy) {
  return copying_endpoint(endpoint_states, copy) == copy.source ? copy.destination : copy.source;
}

void reserve_buffers(std::vector<HostEndpointState>& endpoint_states, std::span<const Copy> copies, bool huge,
                     Deadline deadline) {
  const AllWanted all = all_wanted(endpoint_states, copies);
  check_room(all);
  std::map<int, std::shared_ptr<Made>> made;  // shared with threads, which may hang
  for (const auto& [endpoint, wanted] : all) {
    HostEndpointState& endpoint_state = endpoint_states[static_cast<std::size_t>(endpoint)];
    for (const Wanted& one : wanted) one.memory->reset();
    if (!endpoint_state.team) continue;
    const auto mine = made[endpoint] = std::make_shared<Made>();
    endpoint_state.team->threads(1).front()->start(
        [mine, sizes = sizes_of(wanted), huge, deadline] { *mine = make_here(sizes, huge, deadline); });
  }
  for (const auto& [endpoint, wanted] : all)
    if (HostEndpointState& endpoint_state = endpoint_states[static_cast<std::size_t>(endpoint)]; !endpoint_state.team)
      take(wanted, make_on_node(endpoint_state.endpoint.numa, sizes_of(wanted), huge, deadline));
  if (const auto hung = await_all(endpoint_states, all, made, deadline); !hung.empty())
    throw_hung(endpoint_states, hung, copies);
  if (deadline.passed()) throw TimedOut("the buffers were not ready in time");
}

std::vector<std::string> buffer_remarks(std::span<const HostEndpointState> endpoint_states, bool huge) {
  std::vector<std::string> doubts;
  doubt_nodes(endpoint_states, doubts);
  doubt_huge_pages(endpoint_states, huge, doubts);
  return doubts;
}

}  // namespace linkmatrix
