#include "nbody/series.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/units.hpp"

namespace linkmatrix {

std::string NbodySeries::name() const {
  return "nbody_" + std::string(word(precision)) + "_" + std::string(word(scaling));
}

std::vector<NbodySeries> nbody_series() {
  std::vector<NbodySeries> all;
  for (const auto& [precision, type] : Words<Precision>::table)
    for (const auto& [scaling, how] : Words<Scaling>::table) all.push_back({precision, scaling});
  return all;
}

std::vector<NbodySeries> named_series(std::string_view names) {
  const std::vector<NbodySeries> all = nbody_series();
  std::vector<NbodySeries> out;
  for (const std::string& name : split(names, ',')) {
    const auto found = std::ranges::find(all, name, &NbodySeries::name);
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const NbodySeries& one : all) known.push_back(one.name());
      throw BadInput("unknown --testcase '" + name + "': did you mean " + nearest(name, known) + "? --list shows all");
    }
    if (std::ranges::find(out, *found) != out.end())
      throw BadInput("--testcase names " + name + " twice: name each test case once");
    out.push_back(*found);
  }
  return out;
}

std::string nbody_list() {
  std::string text;
  for (const NbodySeries& one : nbody_series()) text += one.name() + "\n";
  return text;
}

}  // namespace linkmatrix
