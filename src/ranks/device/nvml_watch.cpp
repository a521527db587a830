#include "ranks/device/nvml_watch.hpp"

#include <cerrno>

namespace linkmatrix::ranks {

void NvmlWatch::look(Activity& look, const std::string& label, const NodeRanks& ranks) {
  if (!others_) others_.emplace(use_, std::vector{label}, ranks.pids, program_invocation_short_name);
  moved_.lose();
  others_->add(look, moved_);
}

}  // namespace linkmatrix::ranks
