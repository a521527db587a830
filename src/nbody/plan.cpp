#include "nbody/plan.hpp"

#include <algorithm>

#include "core/command_line.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::string_view efficiency_part = "efficiency", bodies_part = "bodies", time_part = "time";

std::string efficiency_text(const MatrixResult& result, std::size_t column) {
  if (result.status(0, column) != CellStatus::ok) return std::string(word(result.status(0, column)));
  const auto part = result.parts.find(std::string(efficiency_part));
  const auto value = part == result.parts.end() ? std::nullopt : part->second.values(0, column);
  return value ? formatted("%.2f", *value) : "-";
}

}  // namespace

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
  return select_by_name(nbody_series(), split(names, ','), &NbodySeries::name);
}

std::string nbody_list() {
  std::string text;
  for (const NbodySeries& one : nbody_series()) text += one.name() + "\n";
  return text;
}

std::vector<std::uint64_t> default_bodies(Memory memory) {
  if (memory == Memory::host) return {2048, 8192, 32768};
  return {1 << 14, 1 << 16, 1 << 18, 1 << 20};
}

std::vector<int> usual_counts(int devices) {
  std::vector<int> counts;
  for (int count = 1; count < devices; count *= 2) counts.push_back(count);
  counts.push_back(devices);
  return counts;
}

std::string column_of(int devices) { return std::to_string(devices) + (devices == 1 ? "-device" : "-devices"); }

std::uint64_t bodies_on(const NbodyPlan& plan, int devices) {
  return plan.series.scaling == Scaling::weak ? plan.bodies * static_cast<std::uint64_t>(devices) : plan.bodies;
}

void refuse_too_few_bodies(const NbodyPlan& plan, const std::vector<int>& counts) {
  for (const int devices : counts) {
    const std::uint64_t least = bodies_of_tile * static_cast<std::uint64_t>(devices);
    if (bodies_on(plan, devices) < least)
      throw BadInput("--bodies " + std::to_string(plan.bodies) + " is too small for " + std::to_string(devices) +
                     (devices == 1 ? " device, which needs " : " devices, which need ") + std::to_string(least) +
                     " or more: use more bodies, or fewer devices with --counts");
  }
}

NbodySampler::Cases cases_of(const NbodyPlan& plan, const std::vector<int>& counts) {
  NbodySampler::Cases cases;
  for (std::size_t c = 0; c < counts.size(); ++c)
    cases[{0, c}] = {plan.series.precision, bodies_on(plan, counts[c]), counts[c]};
  return cases;
}

MatrixResult result_of(const NbodyPlan& plan, const NbodySampler::Cases& cases, const NbodySystem& system) {
  MatrixResult result;
  std::vector<std::string> columns;
  for (const auto& [place, wanted] : cases) columns.push_back(column_of(wanted.devices));
  result.set_labels({"all"}, columns);
  result.testcase = plan.series.name();
  result.metric = Metric::compute;
  result.quantity = "compute rate";
  result.engine = Engine::sm;
  result.memory = system.memory();
  result.transport = system.transport();
  result.unit = "GFLOP/s";
  result.size_bytes = plan.bodies * bytes_of_body(plan.series.precision);
  for (const auto& [place, wanted] : cases) {
    result.status(place.row, place.column) = CellStatus::not_run;
    result.link_class(place.row, place.column) =
        columns[place.column];  // separate classes, so that columns are not compared
    result.part(std::string(bodies_part), "bodies", "bodies")(place.row, place.column) =
        static_cast<double>(wanted.bodies);
  }
  result.notes.push_back("an interaction counts as " +
                         std::to_string(static_cast<int>(flop_of_interaction(plan.series.precision))) +
                         " operations; each body interacts with all bodies, itself included");
  return result;
}

void add_figures(const NbodySampler::Cases& cases, MatrixResult& result) {
  const auto& [first_place, first] = *cases.begin();
  const auto first_rate = result.values(first_place.row, first_place.column);
  for (const auto& [place, wanted] : cases) {
    const auto [r, c] = place;
    if (result.status(r, c) != CellStatus::ok || !result.values(r, c)) continue;
    const double rate = *result.values(r, c);
    result.part(std::string(time_part), "time of a step", "us")(r, c) = flop_of_step(wanted) / rate * 1e-3;
    if (!first_rate || result.status(first_place.row, first_place.column) != CellStatus::ok) continue;
    const double times = static_cast<double>(wanted.devices) / first.devices;
    result.part(std::string(efficiency_part), "efficiency", "%")(r, c) = 100 * rate / (times * *first_rate);
  }
}

std::string scaling_table(const std::vector<MatrixResult>& results) {
  if (results.empty()) return "";
  const MatrixResult& any = results.front();
  const bool is_weak = any.testcase.ends_with("_weak");
  std::string text = "\n# " + any.testcase + ": efficiency (%): rate relative to the same number of times " +
                     any.columns.front() + "\n#" + formatted("%17s", is_weak ? "bodies per device" : "bodies");
  for (const std::string& column : any.columns) text += formatted("  %12s", column.c_str());
  text += "\n";
  for (const MatrixResult& result : results) {
    const double bodies = result.parts.at(std::string(bodies_part)).values(0, 0).value_or(0);
    text += formatted("%18.0f", bodies);
    for (std::size_t c = 0; c < result.columns.size(); ++c)
      text += formatted("  %12s", efficiency_text(result, c).c_str());
    text += "\n";
  }
  return text;
}

}  // namespace linkmatrix
