#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix::cuda {

/// CUDA's own words for an error and, of MPS, which refuses in words that name no way out, what to do about it.
std::string words_of(cudaError_t status);

/// Whether a device is there and MPS, which stands before it, lets this process not use it.
bool is_of_mps(cudaError_t status);

/// A CUDA call failed, and with what.
class CudaError : public DeviceError {
 public:
  CudaError(const std::string& what, cudaError_t status) : DeviceError(what), status_{status} {}
  cudaError_t status() const { return status_; }

 private:
  cudaError_t status_;
};

/// Throws CudaError "gpu3: cudaMalloc failed: out of memory" for anything but success.
inline void check(cudaError_t status, const std::string& where, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // else the next launch would be told of this one
  throw CudaError(where + ": " + call + " failed: " + words_of(status), status);
}

/// Makes a device the calling thread's own.
inline void use(int ordinal, const std::string& where) { check(cudaSetDevice(ordinal), where, "cudaSetDevice"); }

/// Likewise, and makes this process a context there: from then on the driver lists it among those that use the device.
inline void make_context(int ordinal, const std::string& where) {
  use(ordinal, where);
  check(cudaFree(nullptr), where, "context");
}

/// Owns one CUDA object; `Traits` says what it is and how it ends. Errors at the end are ignored: there is nobody left
/// to tell, and a device that failed says so at every call.
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

/// One that only says whether it happened: cheaper where nobody asks when.
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

/// Page-locked, and mapped for every device at its own address.
inline PinnedMemory make_pinned_memory(std::size_t bytes, const std::string& where) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped), where, "cudaHostAlloc");
  return PinnedMemory(static_cast<std::byte*>(memory));
}

}  // namespace linkmatrix::cuda
