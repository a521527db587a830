#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/handles.hpp"

namespace linkmatrix::nccl {

struct GraphTraits {
  using Value = cudaGraphExec_t;
  static void destroy(Value graph) { cudaGraphExecDestroy(graph); }
};
using Graph = cuda::Handle<GraphTraits>;

/// A rank of this process: one of its devices.
struct LocalRank {
  int number = 0, ordinal = 0;
  std::string label;
  cuda::Stream stream{};
  std::vector<cuda::Event> moments{};                         ///< start of a burst, then end of each sample
  cuda::DeviceMemory send{}, receive{}, expected{}, wrong{};  ///< receive: contains all windows
  std::uint64_t send_bytes = 0, receive_bytes = 0, expected_bytes = 0;
  std::vector<Graph> graphs{};  ///< one per sample of a burst, or one for all samples

  void use() const { cuda::use(ordinal, label); }
};

/// Captures the work that work() enqueues in the ranks' streams, and appends a graph to each rank. Throws CudaError and
/// the exceptions of work(), after ending all captures.
void record_graphs(std::span<LocalRank> ranks, const std::function<void()>& work);

/// Launches graph `number` of each rank in its stream.
void launch_graphs(std::span<const LocalRank> ranks, std::size_t number);

}  // namespace linkmatrix::nccl
