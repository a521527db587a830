#include "device/cuda/reservation.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t least_buffer = 64 * KiB;

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + MiB - 1) / MiB) + " MiB"; }

}  // namespace

Reservation::Reservation(std::span<const Copy> copies, std::vector<EndpointState>& endpoint_states)
    : endpoint_states_{endpoint_states} {
  for (const Copy& copy : copies)
    for (const auto& [key, end] :
         {std::pair{BufferKey{copy.source, Role::source, copy.source_slot}, copy.source_end()},
          std::pair{BufferKey{copy.destination, Role::destination, copy.destination_slot}, copy.end()}}) {
      if (endpoint_state(key.endpoint).lost) continue;
      std::uint64_t& bytes = needs_[key];
      bytes = std::max({bytes, end, least_buffer});
    }
}

std::uint64_t Reservation::has(const BufferKey& key) const {
  const auto& buffers =
      key.role == Role::source ? endpoint_state(key.endpoint).source : endpoint_state(key.endpoint).destination;
  const auto buffer = buffers.find(key.slot);
  return buffer == buffers.end() ? 0 : buffer->second.bytes();
}

std::uint64_t Reservation::missing(int endpoint) const {
  std::uint64_t more = 0;
  for (const auto& [key, bytes] : needs_)
    if (key.endpoint == endpoint && bytes > has(key)) more += bytes - has(key);
  return more;
}

std::map<int, std::string> Reservation::shortages(const FreeMemory& free, std::uint64_t free_on_host,
                                                  const Holders& holders) const {
  std::set<int> endpoints;
  for (const auto& [key, bytes] : needs_) endpoints.insert(key.endpoint);
  std::map<int, std::string> found;
  std::uint64_t on_host = 0;
  std::size_t devices = 0;
  for (const int endpoint : endpoints) {
    const EndpointState& at = endpoint_state(endpoint);
    if (!at.is_device()) {
      on_host += missing(endpoint);
      continue;
    }
    ++devices;
    const std::uint64_t more = missing(endpoint), there = more > 0 ? free(at) : 0;
    if (more > there)
      found[endpoint] = "the buffers need " + mebibytes(more) + " on " + at.where() + ", but only " + mebibytes(there) +
                        " are free" + holders(at);
  }
  constexpr auto remedy = ": use a smaller --size";
  if (devices > 0 && found.size() == devices) throw BadInput(found.begin()->second + remedy);
  if (on_host > free_on_host)
    throw BadInput("the buffers need " + mebibytes(on_host) + " of host memory, but only " + mebibytes(free_on_host) +
                   " are available" + remedy);
  return found;
}

void Reservation::make(int endpoint, HostMemoryKind kind, std::vector<Buffer>* kept) const {
  for (const auto& [key, bytes] : needs_) {
    if (key.endpoint != endpoint || bytes <= has(key)) continue;
    EndpointState& at = endpoint_state(endpoint);
    Buffer& buffer = (key.role == Role::source ? at.source : at.destination)[key.slot];
    if (kept != nullptr) kept->push_back(std::exchange(buffer, Buffer()));
    buffer.reserve(at.endpoint, bytes, kind);
  }
}

}  // namespace linkmatrix::cuda
