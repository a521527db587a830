#include "ranks/device/staging_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "core/descriptor.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t bytes = piece_bytes * pieces;

}  // namespace

StagingBuffer::StagingBuffer(const std::string& name, bool make, const std::string& where) : name_{name}, own_{make} {
  const Descriptor memory(::shm_open(name.c_str(), make ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600));
  if (memory.number() < 0 || (make && ::ftruncate(memory.number(), bytes) != 0))
    throw DeviceError(where + ": shared memory " + name + " cannot be had: is /dev/shm there, with " +
                      std::to_string(bytes >> 20) + " MiB for each rank?");
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.number(), 0);
  if (mapped == MAP_FAILED) throw DeviceError(where + ": shared memory " + name + " cannot be mapped");
  memory_ = static_cast<std::byte*>(mapped);
  if (make) std::memset(memory_, 0, bytes);
  cuda::check(cudaHostRegister(memory_, bytes, cudaHostRegisterPortable), where, "cudaHostRegister");
  pinned_ = cuda::Registration(memory_);
}

StagingBuffer StagingBuffer::make(const std::string& where) {
  static int number = 0;
  return StagingBuffer("/linkmatrix-" + std::to_string(::getpid()) + "-" + std::to_string(number++), true, where);
}

StagingBuffer StagingBuffer::open(const std::string& name, const std::string& where) {
  return StagingBuffer(name, false, where);
}

StagingBuffer::~StagingBuffer() {
  pinned_ = cuda::Registration();
  if (memory_ != nullptr) ::munmap(memory_, bytes);
  if (own_) ::shm_unlink(name_.c_str());
}

}  // namespace linkmatrix::ranks
