#include <thread>

#include "device/cuda/handovers.hpp"
#include "device/host/handovers.hpp"

namespace linkmatrix::cuda {

HostSide::HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes)
    : end_{std::async(std::launch::async, [this, place, terms, writes] {
        HandoverWatch watch = watch_handovers();  // the device may wait for it before it begins
        for (; !begun_; look(watch)) std::this_thread::yield();
        const auto never = [] { return false; };
        return writes ? write_handovers(place, terms, never, watch) : check_handovers(place, terms, never, watch);
      })} {}

}  // namespace linkmatrix::cuda
