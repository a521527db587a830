#include "device/cuda/own_context.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {
namespace {

/// Returns whether this process already has a context on the device, such as one of MPI; true if the driver does not
/// report it.
bool has_context(int ordinal) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays open, as in the CUDA runtime
  void* const address = library == nullptr ? nullptr : ::dlsym(library, "cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 1;
  if (address == nullptr ||
      reinterpret_cast<decltype(cuDevicePrimaryCtxGetState)*>(address)(ordinal, &flags, &active) != CUDA_SUCCESS)
    return true;
  return active != 0;
}

std::shared_ptr<void> allocate_step(std::uint64_t bytes, const std::string& where) {
  try {
    return std::make_shared<DeviceMemory>(make_device_memory(bytes, where));
  } catch (const CudaError& e) {
    if (e.status() == cudaErrorMemoryAllocation) throw std::bad_alloc();
    throw;
  }
}

}  // namespace

OwnProcess make_own_context(int ordinal, const std::string& where, DeviceUseSource& source, std::size_t device) {
  const DeviceProcesses before = has_context(ordinal) ? std::nullopt : source.processes_on(device);
  make_context(ordinal, where);
  return find_own_process(source, device, before, static_cast<unsigned>(::getpid()),
                          [&](std::uint64_t bytes) { return allocate_step(bytes, where); });
}

}  // namespace linkmatrix::cuda
