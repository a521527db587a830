#include <thread>

#include "device/cuda/handovers.hpp"
#include "device/host/handovers.hpp"

namespace linkmatrix::cuda {

HostSide::HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes)
    : end_{std::async(std::launch::async, [this, place, terms, writes] {
        while (!begun_) std::this_thread::yield();
        const auto never = [] { return false; };
        return writes ? write_handovers(place, terms, never) : check_handovers(place, terms, never);
      })} {}

}  // namespace linkmatrix::cuda
