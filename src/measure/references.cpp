#include "measure/references.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::string_view form = "write TESTCASE, NAME, VALUE and UNIT, separated by tabs";
constexpr double least_value = 1e-9, most_value = 1e9;  // most_value: maximum in the schema of records

std::array<std::string_view, 4> columns_of(std::string_view line) {
  std::array<std::string_view, 4> columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t end = line.find('\t');
    columns[i] = line.substr(0, end);
    const bool is_last = i + 1 == columns.size();
    if (columns[i].empty() || (end == std::string_view::npos) != is_last) throw BadInput(std::string(form));
    if (!is_last) line.remove_prefix(end + 1);
  }
  return columns;
}

/// Returns the endpoint names that references use: "gpu0", "rank0" or "node0" instead of labels with host names,
/// because each job may get other nodes.
std::vector<std::string> stable_names(const std::string& testcase, const std::vector<std::string>& labels) {
  std::set<std::string_view> nodes;
  for (const std::string_view label : labels)
    if (const auto colon = label.find(':'); colon != std::string_view::npos) nodes.insert(label.substr(0, colon));
  std::vector<std::string> names;
  for (const std::string& label : labels) {
    const auto colon = label.rfind(':');
    if (testcase.starts_with("node_to_node_"))
      names.push_back("node" + std::to_string(names.size()));
    else if (colon == std::string::npos)
      names.push_back(label);
    else
      names.push_back(nodes.size() == 1 ? label.substr(colon + 1) : "rank" + std::to_string(names.size()));
  }
  return names;
}

}  // namespace

References References::parse(std::string_view text) {
  References found;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    try {
      const auto [testcase, name, value, unit] = columns_of(line);
      const double number = parse_number("the value", value, least_value, most_value);
      found.testcases_[std::string(testcase)].insert_or_assign(std::string(name), Value{number, std::string(unit)});
    } catch (const BadInput& refusal) {
      throw BadInput("line " + std::to_string(line_number) + ": " + refusal.what());
    }
  }
  return found;
}

References References::read(const std::filesystem::path& file) {
  const std::string text = text_of_file("--references", file, "the expected values");
  try {
    return parse(text);
  } catch (const BadInput& refusal) {
    throw BadInput("--references " + file.string() + ", " + refusal.what());
  }
}

Matrix<std::optional<double>> References::values_for(const MatrixDescription& matrix) const {
  Matrix<std::optional<double>> values(matrix.rows.size(), matrix.columns.size());
  const auto known = testcases_.find(matrix.testcase);
  if (known == testcases_.end() || matrix.link_class.empty()) return values;
  const auto value_of = [&](const std::string& name) -> std::optional<double> {
    const auto found = known->second.find(name);
    if (found == known->second.end() || found->second.unit != matrix.unit) return std::nullopt;
    return found->second.value;
  };
  const auto rows = stable_names(matrix.testcase, matrix.rows);
  const auto columns = stable_names(matrix.testcase, matrix.columns);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto own = value_of(rows[r] + "->" + columns[c]);
      values(r, c) = own ? own : value_of("cell[" + matrix.link_class(r, c) + "]");
    }
  return values;
}

}  // namespace linkmatrix
