#pragma once

#include <memory>
#include <string>

#include "device/backend.hpp"
#include "p2p/options.hpp"

namespace linkmatrix {

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::string note;  ///< why this one, where the user left the choice; else empty
};

/// The back end that the options name, or the one that fits what is here. Throws BadInput where it was not built in.
ChosenBackend choose_backend(const P2pOptions& options);

/// Bytes of one transfer where the user says none.
std::uint64_t default_bytes(const Backend& backend);

}  // namespace linkmatrix
