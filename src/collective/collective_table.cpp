#include "collective/collective_table.hpp"

#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// Formats a number with as many digits as nccl-tests.
std::string time_text(double microseconds) {
  return formatted(microseconds >= 10000 ? "%8.0f" : microseconds >= 100 ? "%8.1f" : "%8.2f", microseconds);
}

std::string figures_text(const std::optional<CollectiveFigures>& figures) {
  if (!figures) return formatted("%8s %8s %8s %7s", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = figures->wrong ? std::to_string(*figures->wrong) : "N/A";
  return time_text(figures->microseconds) +
         formatted(" %8.2f %8.2f %7s", figures->algorithm_bandwidth, figures->bus_bandwidth, wrong.c_str());
}

}  // namespace

std::string collective_table(const std::string& testcase, const std::vector<CollectiveLine>& lines) {
  const auto heads = [](const char* time, const char* algorithm, const char* bus, const char* wrong) {
    return formatted("%8s %8s %8s %7s", time, algorithm, bus, wrong);
  };
  const std::string names = heads("time", "algbw", "busbw", "#wrong"), units = heads("(us)", "(GB/s)", "(GB/s)", "");
  std::string text = "\n# " + testcase + "\n#" + formatted("%82s%35s", "out-of-place", "in-place") + "\n#" +
                     formatted("%11s  %12s  %8s  %6s  %6s  ", "size", "count", "type", "redop", "root") + names + " " +
                     names + "\n#" + formatted("%11s  %12s  %8s  %6s  %6s  ", "(B)", "(elements)", "", "", "") + units +
                     " " + units + "\n";
  for (const auto& [wanted, layout, out_of_place, in_place] : lines) {
    const std::string type(word(wanted.type)), op(reduces(wanted.collective) ? word(wanted.reduction) : "none");
    const std::string root = has_root(wanted.collective) ? std::to_string(wanted.root) : "-1";
    const auto count = layout.part > 0 ? layout.part : layout.sent;
    text += formatted("%12llu  %12llu  %8s  %6s  %6s  ", static_cast<unsigned long long>(layout.size_bytes),
                      static_cast<unsigned long long>(count), type.c_str(), op.c_str(), root.c_str()) +
            figures_text(out_of_place) + " " + figures_text(in_place) + "\n";
  }
  return text;
}

}  // namespace linkmatrix
