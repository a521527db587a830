#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nbody/nbody_case.hpp"

namespace linkmatrix {

/// A precision and a scaling, by the name that they have on the command line and in the record.
struct NbodySeries {
  Precision precision = Precision::f32;
  Scaling scaling = Scaling::strong;

  std::string name() const;  ///< "nbody_float_strong"
  bool operator==(const NbodySeries&) const = default;
};

/// All of them.
std::vector<NbodySeries> nbody_series();

/// Their names, for --list.
std::string nbody_list();

/// Those of "NAME[,NAME…]", each once. Throws BadInput for an unknown one, naming the nearest.
std::vector<NbodySeries> named_series(std::string_view names);

}  // namespace linkmatrix
