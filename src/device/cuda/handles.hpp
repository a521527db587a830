#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix::cuda {

/// Returns CUDA's text for an error; for errors of MPS, also the remedy.
std::string error_text(cudaError_t status);

/// Returns whether MPS rejects this process.
bool is_mps_rejection(cudaError_t status);

/// A CUDA call failed.
class CudaError : public DeviceError {
 public:
  CudaError(const std::string& what, cudaError_t status) : DeviceError(what), status_{status} {}
  cudaError_t status() const { return status_; }

 private:
  cudaError_t status_;
};

/// Throws CudaError, such as "gpu3: cudaMalloc failed: out of memory", unless the status is success. where: label of
/// the device.
inline void check(cudaError_t status, const std::string& where, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // resets the error; otherwise the next launch would report it
  throw CudaError(where + ": " + call + " failed: " + error_text(status), status);
}

/// Makes a device the current device of this thread.
inline void use(int ordinal, const std::string& where) { check(cudaSetDevice(ordinal), where, "cudaSetDevice"); }

/// Makes a device current and creates its context. Afterwards the driver lists this process on the device.
inline void make_context(int ordinal, const std::string& where) {
  use(ordinal, where);
  check(cudaFree(nullptr), where, "context");
}

/// Owns one CUDA object. Traits: its type `Value` and its function `destroy`. Ignores errors of the destruction,
/// because a failed device reports an error at every call.
template <class Traits>
class Handle {
 public:
  using Value = typename Traits::Value;

  Handle() = default;
  explicit Handle(Value value) : value_{value} {}
  Handle(Handle&& other) noexcept : value_{std::exchange(other.value_, Value{})} {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != Value{}) Traits::destroy(value_);
  }

  Value get() const { return value_; }
  explicit operator bool() const { return value_ != Value{}; }

 private:
  Value value_{};
};

struct StreamTraits {
  using Value = cudaStream_t;
  static void destroy(Value stream) { cudaStreamDestroy(stream); }
};
struct EventTraits {
  using Value = cudaEvent_t;
  static void destroy(Value event) { cudaEventDestroy(event); }
};
struct DeviceMemoryTraits {
  using Value = std::byte*;
  static void destroy(Value memory) { cudaFree(memory); }
};
struct PinnedMemoryTraits {
  using Value = std::byte*;
  static void destroy(Value memory) { cudaFreeHost(memory); }
};

struct RegistrationTraits {
  using Value = std::byte*;
  static void destroy(Value memory) { cudaHostUnregister(memory); }
};

struct ImportTraits {
  using Value = std::byte*;
  static void destroy(Value memory) { cudaIpcCloseMemHandle(memory); }
};

using Stream = Handle<StreamTraits>;
using Event = Handle<EventTraits>;
using DeviceMemory = Handle<DeviceMemoryTraits>;
using PinnedMemory = Handle<PinnedMemoryTraits>;
using Registration = Handle<RegistrationTraits>;
using Import = Handle<ImportTraits>;

inline Stream make_stream(const std::string& where) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), where, "cudaStreamCreateWithFlags");
  return Stream(stream);
}

inline Event make_event(const std::string& where) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), where, "cudaEventCreate");
  return Event(event);
}

/// Creates an event without timing, which costs less.
inline Event make_mark(const std::string& where) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), where, "cudaEventCreateWithFlags");
  return Event(event);
}

inline DeviceMemory make_device_memory(std::size_t bytes, const std::string& where) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), where, "cudaMalloc");
  return DeviceMemory(static_cast<std::byte*>(memory));
}

/// Allocates page-locked memory, mapped for every device.
inline PinnedMemory make_pinned_memory(std::size_t bytes, const std::string& where) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped), where, "cudaHostAlloc");
  return PinnedMemory(static_cast<std::byte*>(memory));
}

}  // namespace linkmatrix::cuda
