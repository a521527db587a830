#pragma once

#include <cstddef>

#include "core/words.hpp"

namespace linkmatrix {

/// Copies memory on the calling thread.
using HostCopy = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// ce: memcpy of the C library, the nearest thing to a copy engine. sm: our own loops: cached, plain loads and stores;
/// noncached, stores that bypass the caches; bulk, the processor's string copy. The last two are memcpy on processors
/// other than x86-64.
HostCopy host_copy(Engine engine, Kernel kernel);

}  // namespace linkmatrix
