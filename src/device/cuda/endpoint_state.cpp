#include "device/cuda/endpoint_state.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "core/units.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr std::uint64_t host_chunk = 8 * MiB;  // minimum bytes per thread; a multiple of Portion::block_bytes

Lane make_lane(const std::string& where) { return {make_stream(where), make_event(where), make_event(where), {}}; }

/// Page-locks memory for all devices. Throws CudaError if devices use another address than the host.
Registration pin_memory(std::byte* memory, std::uint64_t bytes, const std::string& where) {
  check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped), where, "cudaHostRegister");
  Registration registration(memory);
  void* on_device = nullptr;
  check(cudaHostGetDevicePointer(&on_device, memory, 0), where, "cudaHostGetDevicePointer");
  if (on_device != memory) throw DeviceError(where + ": devices access host memory at another address than the host");
  return registration;
}

/// Calls work(offset, bytes) for pieces of [0, bytes), each on its own thread.
template <class Work>
void in_pieces(std::uint64_t bytes, const Work& work) {
  const std::uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t step = std::max<std::uint64_t>(1, bytes / cores / host_chunk) * host_chunk;
  std::vector<std::jthread> threads;
  for (std::uint64_t at = 0; at < bytes; at += step)
    threads.emplace_back([&work, at, piece = std::min(step, bytes - at)] { work(at, piece); });
}

}  // namespace

void Buffer::reserve(const Endpoint& endpoint, std::uint64_t bytes, HostMemoryKind kind) {
  if (capacity_ >= bytes) return;
  device_ = DeviceMemory();
  pinned_ = Registration();
  host_ = HostMemory();
  capacity_ = 0;
  write_over();
  if (endpoint.kind == EndpointKind::device) {
    device_ = make_device_memory(bytes, endpoint.label);
    touch_on_device(device_.get(), bytes, endpoint.label);
  } else {
    host_ = HostMemory(bytes, kind.huge);
    // Touches new memory with several threads, because the kernel clears each page. Pages are on the threads' node.
    in_pieces(bytes, [&](std::uint64_t at, std::uint64_t piece) {
      const NumaPin pin(endpoint.numa);
      touch_here(host_, at, piece);
    });
    if (kind.pages == HostPages::pinned) pinned_ = pin_memory(host_.data(), bytes, endpoint.label);
  }
  capacity_ = bytes;
}

Lane& EndpointState::lane(std::size_t index) {
  while (lanes.size() <= index) lanes.push_back(make_lane(where()));
  return lanes[index];
}

Lane& EndpointState::answer_lane() {
  if (!answers) answers = make_lane(where());
  return *answers;
}

void EndpointState::make_counters() {
  counters = make_device_memory(counters_bytes, where());
  check(cudaMemset(counters.get(), 0, counters_bytes), where(), "cudaMemset");
}

std::vector<std::exception_ptr> for_each_concurrently(std::span<EndpointState> endpoint_states,
                                                      const std::function<void(EndpointState&)>& work) {
  std::vector<std::exception_ptr> failures(endpoint_states.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < endpoint_states.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        work(endpoint_states[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  threads.clear();  // joins them
  return failures;
}

std::uint64_t free_memory(const EndpointState& at) {
  std::size_t free = 0, total = 0;
  at.use();
  check(cudaMemGetInfo(&free, &total), at.where(), "cudaMemGetInfo");
  return free;
}

void fill_on_host(std::byte* memory, std::uint64_t bytes, std::uint64_t seed) {
  in_pieces(bytes, [&](std::uint64_t at, std::uint64_t piece) { fill_pattern(memory, at, piece, seed); });
}

void poison_on_host(std::byte* memory, std::uint64_t bytes) {
  in_pieces(bytes, [&](std::uint64_t at, std::uint64_t piece) { std::memset(memory + at, poison_byte, piece); });
}

PatternCheck check_on_host(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t ahead,
                           const Portion& portion) {
  std::vector<PatternCheck> found((bytes + host_chunk - 1) / host_chunk);
  in_pieces(bytes, [&](std::uint64_t at, std::uint64_t piece) {
    found[at / host_chunk] = check_portion(memory, at, piece, seed, ahead, portion);
  });
  PatternCheck total;
  for (const PatternCheck& piece : found) {
    if (total.wrong_bytes == 0) total.first_wrong = piece.first_wrong;
    total.wrong_bytes += piece.wrong_bytes;
  }
  return total;
}

}  // namespace linkmatrix::cuda
