#pragma once

#include <cstddef>

#include "core/words.hpp"

namespace linkmatrix {

/// Copies memory on the calling thread.
using HostCopy = void (*)(std::byte* destination, const std::byte* source, std::size_t bytes);

/// Returns the copy function of an engine. ce: memcpy. sm: a loop by kernel. cached: plain loads and stores. noncached:
/// stores that bypass the caches. bulk: `rep movsb`. On processors other than x86-64, noncached and bulk are memcpy.
HostCopy host_copy(Engine engine, Kernel kernel);

}  // namespace linkmatrix
