#include "device/cuda/handles.hpp"

#include <algorithm>
#include <iterator>

namespace linkmatrix::cuda {
namespace {

struct Refusal {
  cudaError_t status;
  const char* remedy;
};

constexpr Refusal mps_remedies[]{
    {cudaErrorMpsConnectionFailed,
     "start nvidia-cuda-mps-control -d with the CUDA_MPS_PIPE_DIRECTORY of this process, or measure without MPS"},
    {cudaErrorMpsRpcFailure, "see server.log in CUDA_MPS_LOG_DIRECTORY, and start nvidia-cuda-mps-control -d again"},
    {cudaErrorMpsServerNotReady,
     "the MPS server may be recovering from a fault of another client: try again when its clients have ended"},
    {cudaErrorMpsMaxClientsReached, "end other clients of MPS, or start fewer processes"},
    {cudaErrorMpsMaxConnectionsReached, "end other clients of MPS, or start fewer processes"},
    {cudaErrorMpsClientTerminated,
     "a fault of another client or of MPS ended this client: run again, or measure without MPS"},
};

const Refusal* refusal(cudaError_t status) {
  const auto found = std::find_if(std::begin(mps_remedies), std::end(mps_remedies),
                                  [=](const Refusal& one) { return one.status == status; });
  return found == std::end(mps_remedies) ? nullptr : found;
}

}  // namespace

std::string error_text(cudaError_t status) {
  const Refusal* const known = refusal(status);
  return cudaGetErrorString(status) + (known == nullptr ? std::string() : std::string(": ") + known->remedy);
}

bool is_mps_rejection(cudaError_t status) { return refusal(status) != nullptr; }

}  // namespace linkmatrix::cuda
