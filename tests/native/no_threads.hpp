#pragma once

#include <pthread.h>

#include <cstddef>

namespace linkmatrix {

/// Prevents the start of threads during its lifetime, by stacks larger than the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_init(&attributes_);
    pthread_getattr_default_np(&attributes_);
    pthread_attr_t vast;
    pthread_attr_init(&vast);
    pthread_attr_setstacksize(&vast, std::size_t{1} << 50);
    pthread_setattr_default_np(&vast);
    pthread_attr_destroy(&vast);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&attributes_);
    pthread_attr_destroy(&attributes_);
  }

 private:
  pthread_attr_t attributes_;
};

}  // namespace linkmatrix
