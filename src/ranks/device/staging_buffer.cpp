#include "ranks/device/staging_buffer.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t bytes = piece_bytes * pieces;

}  // namespace

StagingBuffer::StagingBuffer(std::unique_ptr<SharedSegment> memory, const std::string& where)
    : memory_{std::move(memory)} {
  cuda::check(cudaHostRegister(memory_->data(), bytes, cudaHostRegisterPortable), where, "cudaHostRegister");
  pinned_ = cuda::Registration(memory_->data());
}

StagingBuffer StagingBuffer::make(const std::string& where) {
  return {std::make_unique<SharedSegment>(bytes, where), where};
}

StagingBuffer StagingBuffer::open(const std::string& name, const std::string& where) {
  return {std::make_unique<SharedSegment>(name, bytes, where), where};
}

}  // namespace linkmatrix::ranks
