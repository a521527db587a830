#pragma once

#include <memory>
#include <string>

#include "p2p/measurer.hpp"
#include "p2p/options.hpp"

namespace linkmatrix {

struct ChosenMeasurer {
  std::unique_ptr<Measurer> measurer;
  std::string note;  ///< why this one, where the user left the choice; else empty
};

/// The back end that the options name, or the one that fits what is here. Throws BadInput where it was not built in.
ChosenMeasurer choose_measurer(const P2pOptions& options);

}  // namespace linkmatrix
