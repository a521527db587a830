#pragma once

namespace linkmatrix {

/// From now on memory is kept back for the end of the run. The first allocation that fails lets it go, and fails all
/// the same: what then writes the record, and says why, has some.
void keep_memory_back();

}  // namespace linkmatrix
