#pragma once

#include <cstddef>

#include "core/words.hpp"

namespace linkmatrix {

/// Copies memory on the calling thread.
using HostCopy = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// Returns the copy function of an engine. ce: memcpy of the C library. sm: own loops; cached: plain loads and stores;
/// noncached: stores that bypass the caches; bulk: the processor's string copy. On processors other than x86-64 the
/// last two are memcpy.
HostCopy host_copy(Engine engine, Kernel kernel);

}  // namespace linkmatrix
