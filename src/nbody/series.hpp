#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nbody/nbody_case.hpp"

namespace linkmatrix {

/// A precision and a scaling, with their name on the command line and in the record.
struct NbodySeries {
  Precision precision = Precision::f32;
  Scaling scaling = Scaling::strong;

  std::string name() const;  ///< "nbody_float_strong"
  bool operator==(const NbodySeries&) const = default;
};

/// Returns all series.
std::vector<NbodySeries> nbody_series();

/// Returns the text of --list.
std::string nbody_list();

/// Returns the series of "NAME[,NAME…]". Throws BadInput for a duplicate or unknown name, with the nearest known one.
std::vector<NbodySeries> named_series(std::string_view names);

}  // namespace linkmatrix
