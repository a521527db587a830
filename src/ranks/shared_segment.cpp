#include "ranks/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace linkmatrix::ranks {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw DeviceError(where + ": memory shared with other processes cannot be " + what + ": " + std::strerror(errno));
}

}  // namespace

SharedSegment::SharedSegment(std::uint64_t bytes, const std::string& where)
    : file_{::memfd_create("linkmatrix", MFD_CLOEXEC)},
      bytes_{bytes},
      name_{"/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number())} {
  if (!file_.is_open() || ::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) refuse(where, "made");
  map(where);
  std::memset(data_, 0, bytes);
}

SharedSegment::SharedSegment(const std::string& name, std::uint64_t bytes, const std::string& where)
    : file_{::open(name.c_str(), O_RDWR | O_CLOEXEC)}, bytes_{bytes}, name_{name} {
  if (!file_.is_open()) refuse(where, "opened as " + name + ": start all ranks as one user in one PID namespace");
  map(where);
}

void SharedSegment::map(const std::string& where) {
  void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (mapped == MAP_FAILED) refuse(where, "mapped");
  data_ = static_cast<std::byte*>(mapped);
}

SharedSegment::~SharedSegment() { ::munmap(data_, bytes_); }

}  // namespace linkmatrix::ranks
