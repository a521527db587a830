#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/command_line.hpp"
#include "core/error.hpp"

namespace linkmatrix {

/// Condition under which an option has an effect. Options: options of a program, with is_given(). Scope: properties of
/// a run that conditions use.
template <class Options, class Scope>
struct OptionCondition {
  bool (*holds)(const Options&, const Scope&);
  std::string_view why_not;  ///< text if the condition does not hold: "reason: remedy"
};

/// An option and all its conditions.
template <class Options, class Scope>
struct OptionRow {
  using Conditions = std::vector<OptionCondition<Options, Scope>>;

  OptionRow(Option its_option, Conditions its_needs = {})
      : option{std::move(its_option)}, needs{std::move(its_needs)} {}

  Option option;
  Conditions needs;
};

template <class Row>
std::vector<Option> options_of(const std::vector<Row>& rows) {
  std::vector<Option> options;
  for (const Row& row : rows) options.push_back(row.option);
  return options;
}

/// Throws BadInput for the first given option with a condition that does not hold.
template <class Options, class Scope>
void refuse_unused(const std::vector<OptionRow<Options, Scope>>& rows, const Options& options, const Scope& run) {
  for (const auto& [option, needs] : rows) {
    if (!options.is_given(option.name)) continue;
    for (const auto& condition : needs)
      if (!condition.holds(options, run))
        throw BadInput(std::string(option.name) + " does nothing in this run: " + std::string(condition.why_not));
  }
}

}  // namespace linkmatrix
