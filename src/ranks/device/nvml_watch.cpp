#include "ranks/device/nvml_watch.hpp"

#include <cerrno>

#include "device/cuda/handles.hpp"

namespace linkmatrix::ranks {

/// As long as the driver does not list this process itself, nobody knows whether it lists all others.
NvmlWatch::NvmlWatch(const Endpoint& device) : health_{nvml_, {device}}, use_{nvml_, {device.pci}} {
  cuda::make_context(device.index, device.label);
}

void NvmlWatch::look(Activity& look, const std::string& label, const NodeRanks& ranks) {
  if (!others_) others_.emplace(use_, std::vector{label}, ranks.pids, program_invocation_short_name);
  moved_.lose();
  others_->add(look, moved_);
}

}  // namespace linkmatrix::ranks
