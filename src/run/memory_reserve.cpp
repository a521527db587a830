#include "run/memory_reserve.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace linkmatrix {
namespace {

constexpr std::size_t kept_back = 8 << 20;  // the record of some hundred endpoints; never touched, so it costs no page

std::atomic<void*> reserve{nullptr};

void let_go() {
  std::free(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

}  // namespace

void keep_memory_back() {
  std::free(reserve.exchange(std::malloc(kept_back)));
  std::set_new_handler(let_go);
}

}  // namespace linkmatrix
