// other_process: a process that uses a GPU or the processor in one of several ways, for --seconds, and then ends.
//
// nvcc -arch=native -std=c++20 -O3 -o other_process tests/tools/other_process.cu && ./other_process spin --gpu 1
//
// It prints "ready PID" as soon as it uses what its mode names. disturbed_runs.py starts it during a measurement.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "busy_cores.hpp"

namespace {

constexpr std::size_t copied = std::size_t{512} << 20;  // bytes of a buffer
constexpr std::uint64_t spin_ns = 20'000'000;           // of a kernel: each one ends by itself
constexpr int in_flight = 4;                            // copies or kernels between two synchronizations
constexpr int small_in_flight = 256;

struct Options {
  std::string mode;
  double seconds = 10;  // from "ready" to the end
  double after = 0;     // seconds before anything is used
  int gpu = 0, peer = 1, core = 0;
};

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

void sleep_for(double seconds) { std::this_thread::sleep_for(Seconds(seconds)); }

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct FreeHost {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;
using PinnedMemory = std::unique_ptr<void, FreeHost>;
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;

void choose(int gpu) { check(cudaSetDevice(gpu), "cudaSetDevice"); }

DeviceMemory device_memory(int gpu, std::size_t bytes = copied) {
  void* memory = nullptr;
  choose(gpu);
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

PinnedMemory pinned_memory() {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, copied), "cudaMallocHost");
  return PinnedMemory(memory);
}

Stream stream_on(int gpu) {
  cudaStream_t stream = nullptr;
  choose(gpu);
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(stream);
}

void enable_peer(int gpu, int peer) {
  choose(gpu);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
}

int multiprocessors(int gpu) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu), "cudaDeviceGetAttribute");
  return count;
}

__global__ void spin(std::uint64_t nanoseconds) {
  std::uint64_t start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
}

__global__ void add_one(int* value) { atomicAdd(value, 1); }

__global__ void read(const uint4* from, std::size_t count, unsigned* sum) {
  unsigned mine = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += step) {
    const uint4 v = __ldcv(from + at);
    mine += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (mine == 0xffffffff) atomicAdd(sum, mine);  // the compiler keeps the loads
}

/// Repeats `enqueue` on a stream; the device always has work while the timer runs.
template <class Enqueue>
void keep_busy(const Options& options, int gpu, cudaStream_t stream, int batch, Enqueue enqueue) {
  choose(gpu);
  enqueue(stream);
  check(cudaStreamSynchronize(stream), "first work");
  Timer timer{options.seconds};
  while (timer.runs()) {
    for (int i = 0; i < batch; ++i) enqueue(stream);
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

void launch_spin(int gpu, std::uint64_t nanoseconds, cudaStream_t stream) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, spin, 1024, 0), "occupancy");
  spin<<<multiprocessors(gpu) * blocks, 1024, 0, stream>>>(nanoseconds);
}

void spin_on_all(const Options& o) {
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), in_flight, [&](cudaStream_t s) { launch_spin(o.gpu, spin_ns, s); });
}

void local_copies(const Options& o) {
  const DeviceMemory from = device_memory(o.gpu), to = device_memory(o.gpu);
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), in_flight, [&](cudaStream_t s) {
    check(cudaMemcpyAsync(to.get(), from.get(), copied, cudaMemcpyDeviceToDevice, s), "cudaMemcpyAsync");
  });
}

void peer_read(const Options& o) {
  const DeviceMemory from = device_memory(o.peer), sum = device_memory(o.gpu, sizeof(unsigned));
  enable_peer(o.gpu, o.peer);
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), in_flight, [&](cudaStream_t s) {
    read<<<multiprocessors(o.gpu) * 2, 1024, 0, s>>>(static_cast<const uint4*>(from.get()), copied / sizeof(uint4),
                                                     static_cast<unsigned*>(sum.get()));
  });
}

/// Takes what is free in smaller and smaller pieces, down to 1 MiB.
std::vector<DeviceMemory> all_memory(int gpu) {
  std::vector<DeviceMemory> held;
  choose(gpu);
  for (std::size_t piece = std::size_t{8} << 30; piece >= std::size_t{1} << 20;) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, piece) == cudaSuccess) {
      held.emplace_back(memory);
    } else {
      cudaGetLastError();
      piece /= 2;
    }
  }
  return held;
}

void wait(const Options& o) {
  Timer timer{o.seconds};
  if (timer.runs()) sleep_for(std::max(timer.left(), 0.0));
}

void memory(const Options& o) {
  const std::vector<DeviceMemory> held = all_memory(o.gpu);
  wait(o);
}

void peer_copies(const Options& o) {
  const DeviceMemory here = device_memory(o.gpu), there = device_memory(o.peer);
  const DeviceMemory here_too = device_memory(o.gpu), there_too = device_memory(o.peer);
  enable_peer(o.peer, o.gpu);
  enable_peer(o.gpu, o.peer);
  const Stream forth = stream_on(o.gpu), back = stream_on(o.peer);
  keep_busy(o, o.gpu, forth.get(), in_flight, [&](cudaStream_t s) {
    check(cudaMemcpyPeerAsync(there.get(), o.peer, here.get(), o.gpu, copied, s), "cudaMemcpyPeerAsync");
    check(cudaMemcpyPeerAsync(here_too.get(), o.gpu, there_too.get(), o.peer, copied, back.get()), "reverse copy");
  });
  check(cudaStreamSynchronize(back.get()), "reverse copies");
}

void host_to_device(const Options& o) {
  const DeviceMemory to = device_memory(o.gpu);
  const PinnedMemory from = pinned_memory();
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), in_flight, [&](cudaStream_t s) {
    check(cudaMemcpyAsync(to.get(), from.get(), copied, cudaMemcpyHostToDevice, s), "cudaMemcpyAsync");
  });
}

void device_to_pageable(const Options& o) {
  const DeviceMemory from = device_memory(o.gpu);
  std::vector<char> to(copied);
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), 1, [&](cudaStream_t) {
    check(cudaMemcpy(to.data(), from.get(), copied, cudaMemcpyDeviceToHost), "cudaMemcpy");
  });
}

/// 100 ms of spinning kernels, then 400 ms of nothing.
void bursts(const Options& o) {
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), 1, [&](cudaStream_t s) {
    for (int i = 0; i < 5; ++i) launch_spin(o.gpu, spin_ns, s);
    check(cudaStreamSynchronize(s), "burst");
    sleep_for(0.4);
  });
}

void idle_context(const Options& o) {
  choose(o.gpu);
  check(cudaFree(nullptr), "context");
  wait(o);
}

/// A context that comes and goes: 300 ms there, 300 ms not.
void changing_context(const Options& o) {
  Timer timer{o.seconds};
  do {
    choose(o.gpu);
    check(cudaFree(nullptr), "context");
    if (!timer.runs()) break;
    sleep_for(0.3);
    check(cudaDeviceReset(), "end of the context");
    sleep_for(0.3);
  } while (timer.runs());
}

void small_kernels(const Options& o) {
  const DeviceMemory value = device_memory(o.gpu, sizeof(int));
  const Stream stream = stream_on(o.gpu);
  keep_busy(o, o.gpu, stream.get(), small_in_flight,
            [&](cudaStream_t s) { add_one<<<1, 32, 0, s>>>(static_cast<int*>(value.get())); });
}

void all_cores(const Options& o) { on_all_cores(o.seconds, compute_until); }

void host_copies(const Options& o) {
  on_all_cores(o.seconds, [](Clock::time_point end) {
    std::vector<char> from(std::size_t{64} << 20, 1), to(from.size());
    while (Clock::now() < end) std::memcpy(to.data(), from.data(), from.size());
  });
}

void one_core(const Options& o) {
  pin_to(o.core);
  Timer timer{o.seconds};
  timer.runs();
  compute_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(o.seconds)));
}

struct Mode {
  std::string_view name, text;
  void (*run)(const Options&);
};

constexpr Mode modes[] = {
    {"spin", "kernels that compute on all multiprocessors of --gpu", spin_on_all},
    {"local-copies", "copies inside the memory of --gpu", local_copies},
    {"peer-read", "kernels on --gpu that read the memory of --peer", peer_read},
    {"memory", "holds all free memory of --gpu", memory},
    {"peer-copies", "copies from --gpu to --peer and from --peer to --gpu, concurrently", peer_copies},
    {"host-to-device", "copies from page-locked host memory to --gpu", host_to_device},
    {"device-to-pageable", "copies from --gpu to pageable host memory", device_to_pageable},
    {"bursts", "kernels on --gpu for 100 ms, then 400 ms without", bursts},
    {"context", "a context on --gpu and nothing else", idle_context},
    {"changing-context", "a context on --gpu for 300 ms, then 300 ms without", changing_context},
    {"small-kernels", "many kernels of one warp on --gpu", small_kernels},
    {"all-cores", "computes on all cores; uses no GPU", all_cores},
    {"host-copies", "copies host memory on all cores; uses no GPU", host_copies},
    {"one-core", "computes on --core; uses no GPU", one_core},
};

int usage() {
  std::puts("other_process MODE [--seconds S] [--after S] [--gpu I] [--peer J] [--core K]\n");
  std::puts("--seconds S  how long (default: 10); --after S  seconds of sleep before it starts (default: 0)\n");
  for (const Mode& mode : modes)
    std::printf("  %-20.*s%.*s\n", static_cast<int>(mode.name.size()), mode.name.data(),
                static_cast<int>(mode.text.size()), mode.text.data());
  return 2;
}

Options parse(std::span<char*> arguments) {
  Options options;
  if (arguments.size() < 2 || arguments.size() % 2 != 0) throw std::invalid_argument("name one mode");
  options.mode = arguments[1];
  for (std::size_t at = 2; at + 1 < arguments.size(); at += 2) {
    const std::string_view name = arguments[at];
    const double value = std::stod(arguments[at + 1]);
    if (name == "--seconds")
      options.seconds = value;
    else if (name == "--after")
      options.after = value;
    else if (name == "--gpu")
      options.gpu = static_cast<int>(value);
    else if (name == "--peer")
      options.peer = static_cast<int>(value);
    else if (name == "--core")
      options.core = static_cast<int>(value);
    else
      throw std::invalid_argument("unknown option " + std::string(name));
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = parse({arguments, static_cast<std::size_t>(count)});
    const auto* mode = std::ranges::find(modes, options.mode, &Mode::name);
    if (mode == std::end(modes)) return usage();
    sleep_for(options.after);
    mode->run(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return usage();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
