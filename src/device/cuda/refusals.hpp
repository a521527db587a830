#pragma once

#include <cuda_runtime.h>

#include <string>

namespace linkmatrix::cuda {

/// CUDA's own words for an error and, of MPS, which refuses in words that name no way out, what to do about it.
std::string words_of(cudaError_t status);

/// Whether a device is there and MPS, which stands before it, lets this process not use it.
bool is_of_mps(cudaError_t status);

}  // namespace linkmatrix::cuda
