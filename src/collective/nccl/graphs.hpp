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

/// A rank of this process, which is one of its devices.
struct LocalRank {
  int number = 0, ordinal = 0;
  std::string label;
  cuda::Stream stream{};
  std::vector<cuda::Event> moments{};  ///< when a burst begins, and when each of its samples ends
  cuda::DeviceMemory send{}, receive{}, expected{}, wrong{};  ///< receive: all windows
  std::uint64_t send_bytes = 0, receive_bytes = 0, expected_bytes = 0;
  std::vector<Graph> graphs{};  ///< of a burst's samples, or one for all

  void use() const { cuda::use(ordinal, label); }
};

/// Adds a graph to each rank, captured from what `work` puts into all streams. Throws CudaError and the exceptions of
/// `work`; then no stream captures any more.
void record_graphs(std::span<LocalRank> ranks, const std::function<void()>& work);

/// Launches the graph with a number in the stream of each rank.
void launch_graphs(std::span<const LocalRank> ranks, std::size_t number);

}  // namespace linkmatrix::nccl
