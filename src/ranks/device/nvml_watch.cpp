#include "ranks/device/nvml_watch.hpp"

#include <unistd.h>

#include "device/cuda/handles.hpp"
#include "device/cuda/own_context.hpp"
#include "device/device_activity.hpp"

namespace linkmatrix::ranks {
namespace {

DeviceActivity others_on(cuda::NvmlUse& use, const std::string& label, const OwnProcess& own) {
  return {use, {label}, {own}, static_cast<unsigned>(::getpid())};
}

OwnProcess join(const Endpoint& device, const cuda::Nvml& nvml, cuda::NvmlUse& use) {
  try {
    return cuda::make_own_context(device.index, device.label, use, 0);
  } catch (const cuda::CudaError& e) {
    if (e.status() != cudaErrorMemoryAllocation) throw;
    if (!others_on(use, device.label, {OwnProcess::Listed::absent, 0}).others_hold_memory(0)) throw;
    throw MemoryHeld(e.what() + ("; " + nvml.memory_holders(device.pci)), {device.label}, {});
  }
}

}  // namespace

NvmlWatch::NvmlWatch(const Endpoint& device)
    : health_{nvml_, {device}}, use_{nvml_, {device}}, own_{join(device, nvml_, use_)} {}

void NvmlWatch::poll(Activity& poll, const std::string& label) { others_on(use_, label, own_).add(poll); }

}  // namespace linkmatrix::ranks
