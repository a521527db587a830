#include "collective/nccl/graphs.hpp"

#include <vector>

namespace linkmatrix::nccl {
namespace {

using cuda::check;

/// Ends the capture of a stream, so that the stream can be used again.
void leave_recording(std::span<LocalRank> ranks) {
  for (const LocalRank& rank : ranks) {
    cudaSetDevice(rank.ordinal);
    cudaGraph_t recorded = nullptr;
    cudaStreamEndCapture(rank.stream.get(), &recorded);
    if (recorded != nullptr) cudaGraphDestroy(recorded);
  }
  cudaGetLastError();  // resets the error; the first exception is reported
}

}  // namespace

void record_graphs(std::span<LocalRank> ranks, const std::function<void()>& work) {
  try {
    for (const LocalRank& rank : ranks) {
      rank.use();
      check(cudaStreamBeginCapture(rank.stream.get(), cudaStreamCaptureModeThreadLocal), rank.label,
            "cudaStreamBeginCapture");
    }
    work();
  } catch (...) {
    leave_recording(ranks);
    throw;
  }
  std::vector<cudaGraph_t> recorded(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {  // before any call that is forbidden during a capture
    ranks[i].use();
    check(cudaStreamEndCapture(ranks[i].stream.get(), &recorded[i]), ranks[i].label, "cudaStreamEndCapture");
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].use();
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, recorded[i], 0), ranks[i].label, "cudaGraphInstantiate");
    ranks[i].graphs.emplace_back(made);
    cudaGraphDestroy(recorded[i]);
    check(cudaGraphUpload(made, ranks[i].stream.get()), ranks[i].label, "cudaGraphUpload");
  }
}

void launch_graphs(std::span<const LocalRank> ranks, std::size_t number) {
  for (const LocalRank& rank : ranks) {
    rank.use();
    check(cudaGraphLaunch(rank.graphs.at(number).get(), rank.stream.get()), rank.label, "cudaGraphLaunch");
  }
}

}  // namespace linkmatrix::nccl
