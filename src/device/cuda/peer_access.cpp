#include "device/cuda/peer_access.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/handles.hpp"

namespace linkmatrix::cuda {
namespace {

std::string text(PeerPair pair) { return "gpu" + std::to_string(pair.first) + "->gpu" + std::to_string(pair.second); }

/// Makes a call with the pair's first device current.
template <class Call>
cudaError_t on_device(PeerPair pair, const Call& call) {
  cudaError_t status = cudaSetDevice(pair.first);
  if (status == cudaSuccess) status = call(pair.second);
  cudaGetLastError();
  return status;
}

}  // namespace

PeerAccess::Driver PeerAccess::cuda_driver() {
  return {[](PeerPair pair) { return on_device(pair, [](int peer) { return cudaDeviceEnablePeerAccess(peer, 0); }); },
          [](PeerPair pair) { return on_device(pair, [](int peer) { return cudaDeviceDisablePeerAccess(peer); }); }};
}

bool PeerAccess::is_on(PeerPair pair) const {
  const auto device = on_.find(pair.first);
  return device != on_.end() && device->second.contains(pair.second);
}

cudaError_t PeerAccess::enable(PeerPair pair) {
  cudaError_t status = driver_.enable(pair);
  if (status == cudaErrorPeerAccessAlreadyEnabled) status = cudaSuccess;
  if (status == cudaSuccess) on_[pair.first].insert(pair.second);
  return status;
}

void PeerAccess::prepare(const std::map<PeerPair, bool>& wanted) {
  std::map<int, std::vector<std::pair<PeerPair, bool>>> changes;
  for (const auto& [pair, on] : wanted)
    if (is_on(pair) != on) changes[pair.first].emplace_back(pair, on);
  for (const auto& change : changes) on_[change.first];  // inserts keys before threads use the map
  std::vector<std::jthread> threads;
  for (const auto& [device, mine] : changes)
    threads.emplace_back([this, &mine = mine] {
      for (const auto& [pair, on] : mine)
        if (!on && driver_.disable(pair) == cudaSuccess) on_.at(pair.first).erase(pair.second);
      for (const auto& [pair, on] : mine)
        if (on && enable(pair) == cudaErrorTooManyPeers) break;
    });
}

void PeerAccess::turn_on(PeerPair pair, const std::set<PeerPair>& needed) {
  if (is_on(pair)) return;
  cudaError_t status = enable(pair);
  while (status == cudaErrorTooManyPeers) {
    const std::set<int>& peers = on_[pair.first];
    const auto spare = std::find_if(peers.begin(), peers.end(), [&](int peer) {
      return !needed.contains({pair.first, peer});
    });
    if (spare == peers.end()) break;
    turn_off({pair.first, *spare});
    status = enable(pair);
  }
  check(status, text(pair), "cudaDeviceEnablePeerAccess");
}

void PeerAccess::turn_off(PeerPair pair) {
  if (!is_on(pair)) return;
  const cudaError_t status = driver_.disable(pair);
  on_.at(pair.first).erase(pair.second);
  if (status != cudaErrorPeerAccessNotEnabled) check(status, text(pair), "cudaDeviceDisablePeerAccess");
}

void PeerAccess::all_off() {
  for (const auto& [device, peers] : on_)
    for (const int peer : peers) driver_.disable({device, peer});
  on_.clear();
}

}  // namespace linkmatrix::cuda
