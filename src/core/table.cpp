#include "core/table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "core/statistics.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

using CellText = std::function<std::string(std::size_t, std::size_t)>;

constexpr std::size_t worst_shown = 8;
constexpr std::string_view axes = "row = source, column = destination";
constexpr std::string_view collective_axes = "all ranks, column = ";
constexpr std::string_view simulation_axes = "all devices, column = number of devices";

std::string number(double value, int decimals) { return formatted("%.*f", decimals, value); }

/// As `number`, with more decimals for small values, so that three digits are significant.
std::string figure(double value, int decimals) {
  constexpr int most = 9;
  double scaled = std::abs(value) * std::pow(10.0, decimals);
  for (; decimals < most && scaled > 0 && scaled < 100; scaled *= 10) ++decimals;
  return number(value, decimals);
}

int decimals(const std::string& unit) { return unit == "us" ? 3 : 2; }

/// Prints a matrix of texts with labels, right-aligned, limited to `max_display` rows and columns.
void print_grid(std::ostream& out, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                std::size_t max_display, const CellText& cell) {
  const std::size_t shown_rows = std::min(rows.size(), max_display);
  const std::size_t shown_columns = std::min(columns.size(), max_display);
  std::size_t head = 4, width = 8;
  for (std::size_t r = 0; r < shown_rows; ++r) head = std::max(head, rows[r].size());
  for (std::size_t c = 0; c < shown_columns; ++c) {
    width = std::max(width, columns[c].size());
    for (std::size_t r = 0; r < shown_rows; ++r) width = std::max(width, cell(r, c).size());
  }
  out << std::string(head, ' ');
  for (std::size_t c = 0; c < shown_columns; ++c) out << "  " << std::setw(static_cast<int>(width)) << columns[c];
  out << '\n';
  for (std::size_t r = 0; r < shown_rows; ++r) {
    out << std::left << std::setw(static_cast<int>(head)) << rows[r] << std::right;
    for (std::size_t c = 0; c < shown_columns; ++c) out << "  " << std::setw(static_cast<int>(width)) << cell(r, c);
    out << '\n';
  }
  if (shown_rows < rows.size() || shown_columns < columns.size())
    out << "(first " << max_display << " of " << std::max(rows.size(), columns.size())
        << " rows and columns shown; the record contains all)\n";
}

/// Returns the options beyond the size, ", offset 4, 32 blocks"; "" without any.
std::string variant_text(const MatrixResult& result) {
  std::string text;
  if (result.offset > 0) text += ", offset " + std::to_string(result.offset);
  if (result.blocks > 0) text += ", " + std::to_string(result.blocks) + " blocks";
  if (result.threads > 0) text += ", " + std::to_string(result.threads) + " threads";
  if (result.host_pages == HostPages::pageable) text += ", pageable";
  if (result.pairs > 0) text += ", " + std::to_string(result.pairs) + (result.pairs == 1 ? " pair" : " pairs");
  return text;
}

bool is_of_all_ranks(const MatrixResult& result) {
  return result.rows.size() == 1 && result.rows.front() == "all" &&
         (result.engine == Engine::nccl || result.engine == Engine::mpi);
}

std::string axes_text(const MatrixResult& result) {
  if (result.metric == Metric::compute) return std::string(simulation_axes);
  if (!is_of_all_ranks(result)) return std::string(axes);
  const bool leaves_out = !result.columns.empty() && result.columns.front().starts_with("without-");
  return std::string(collective_axes) + (leaves_out ? "excluded component" : "buffer placement");
}

void print_table_head(std::ostream& out, const MatrixResult& result, const std::string& title,
                      const std::string& unit) {
  out << result.testcase << ": " << title << " (" << unit << "), " << result.size_bytes << " bytes"
      << variant_text(result) << ", " << axes_text(result) << '\n';
}

std::string cell_text(const MatrixResult& result, const Values& values, const std::string& unit, std::size_t r,
                      std::size_t c) {
  const CellStatus status = result.status(r, c);
  if (status == CellStatus::not_applicable) return "-";
  if (status != CellStatus::ok) return std::string(word(status));
  return values(r, c) ? figure(*values(r, c), decimals(unit)) : "-";
}

std::vector<double> measured(const MatrixResult& result, const Values& values) {
  std::vector<double> out;
  for (std::size_t r = 0; r < values.rows(); ++r)
    for (std::size_t c = 0; c < values.columns(); ++c)
      if (result.status(r, c) == CellStatus::ok && values(r, c)) out.push_back(*values(r, c));
  return out;
}

void print_summary(std::ostream& out, const MatrixResult& result) {
  const auto all = measured(result, result.values);
  if (all.empty()) return;
  const int digits = decimals(result.unit);
  out << "min " << figure(*std::min_element(all.begin(), all.end()), digits) << "  median "
      << figure(median(all), digits) << "  max " << figure(*std::max_element(all.begin(), all.end()), digits)
      << "  sum " << figure(std::accumulate(all.begin(), all.end(), 0.0), digits) << '\n';
}

std::string counted(std::size_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

void print_schedule(std::ostream& out, const MatrixResult& result) {
  int fewest = 0, most = 0;
  for (const auto& n : result.samples)
    if (n) {
      fewest = fewest == 0 ? *n : std::min(fewest, *n);
      most = std::max(most, *n);
    }
  const Schedule& s = result.schedule;
  out << counted(s.rounds, "round") << ", " << counted(s.pairs_at_once, "pair")
      << " measured concurrently; interference "
      << (s.interference ? number(100 * *s.interference, 2) + " %" : "not calibrated") << "; " << fewest << " to "
      << most << " samples per cell; " << number(result.seconds, 3) << " s\n";
}

void print_fit(std::ostream& out, const MatrixResult& result) {
  if (!result.parts.contains("fit_bandwidth")) return;
  const auto rate = measured(result, result.parts.at("fit_bandwidth").values);
  const auto overhead = measured(result, result.parts.at("fit_overhead").values);
  if (rate.empty() || overhead.empty()) return;
  out << "fit: t = " << figure(median(overhead), 2) << " us + bytes / " << figure(median(rate), 2)
      << " GB/s (medians of the cells)";
  if (result.parts.contains("fit_error")) {
    const auto error = measured(result, result.parts.at("fit_error").values);
    if (!error.empty())
      out << ", largest deviation " << number(*std::max_element(error.begin(), error.end()), 1) << " %";
  }
  out << '\n';
}

/// Returns the compared fraction of the data, " (11 % of one transfer per sample)"; "" if unknown.
std::string compared_text(const Coverage& coverage) {
  if (coverage.compared_transfers == 0) return "";
  const double percent = 100 * coverage.compared_share / static_cast<double>(coverage.compared_transfers);
  const std::string part = percent < 99.95 ? number(percent, percent < 9.95 ? 1 : 0) + " % of " : "";
  return " (" + part + "one transfer per sample)";
}

void print_verified(std::ostream& out, const MatrixResult& result) {
  if (!result.verify) {
    out << "verified: no (--no-verify)\n";
    return;
  }
  out << "verified: " << result.cells_verified << " of " << result.cells_expected() << " cells"
      << compared_text(result.coverage) << '\n';
}

template <class T>
CellText optional_cell(const Matrix<std::optional<T>>& m) {
  return [&m](std::size_t r, std::size_t c) {
    return m(r, c) ? std::to_string(static_cast<int>(*m(r, c))) : std::string("?");
  };
}

}  // namespace

void print_head(std::ostream& out, const RecordHead& record, std::size_t max_display) {
  out << "linkmatrix " << record.program << ' ' << LINKMATRIX_VERSION << ", back end " << record.backend << '\n';
  out << record.host.name << ": " << counted(record.devices.size(), "device");
  for (const auto& [name, version] : record.software) out << ", " << name << ' ' << version;
  out << '\n';
  std::vector<std::string> labels;
  for (const auto& device : record.devices) {
    labels.push_back(device.label);
    out << device.label << "  " << device.name;
    for (const auto& detail : {device.uuid, device.pci})
      if (!detail.empty()) out << "  " << detail;
    if (device.numa >= 0) out << "  numa " << device.numa;
    out << '\n';
  }
  const Topology& t = record.topology;
  const auto print = [&](const std::string& title, const CellText& cell) {
    out << '\n' << title << '\n';
    print_grid(out, labels, labels, max_display, cell);
  };
  if (t.link_class.empty()) {
    out << "link classes are not shown for this many endpoints; pairs of one node have class NODE, other pairs NET\n";
    for (const auto& note : record.notes) out << "note: " << note << '\n';
    return;
  }
  print("Link class (" + std::string(axes) + ")", [&](std::size_t r, std::size_t c) {
    return t.link_class(r, c).empty() ? std::string("?") : t.link_class(r, c);
  });
  const auto print_if_known = [&](const std::string& title, const auto& m) {
    if (std::any_of(m.begin(), m.end(), [](const auto& cell) { return cell.has_value(); }))
      print(title + std::string(axes) + ")", optional_cell(m));
  };
  print_if_known("Peer access (1 = yes; ", t.peer_access);
  print_if_known("Min path in hops (0 = no path; ", t.min_path);
  print_if_known("Links (bonded NVLinks; ", t.links);
  for (const auto& note : record.notes) out << "note: " << note << '\n';
}

void print_health(std::ostream& out, const RecordHead& record) {
  for (const Health& device : record.health)
    for (const auto& [name, before, after] : device.counters)
      if (before && after && *after > *before)
        out << "counter increased: " << device.label << ' ' << name << ' ' << number(*before, 0) << " -> "
            << number(*after, 0) << '\n';
}

namespace {

/// Prints the worst rows or columns by the median of their cells.
void print_worst(std::ostream& out, const std::string& axis, const std::vector<std::string>& labels,
                 const std::vector<double>& medians, bool high_is_bad, std::size_t most) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  most = std::min({most, worst_shown, order.size()});
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
      [&](std::size_t a, std::size_t b) { return high_is_bad ? medians[a] > medians[b] : medians[a] < medians[b]; });
  out << "worst " << axis << ":";
  for (std::size_t k = 0; k < most; ++k) out << ' ' << labels[order[k]] << ' ' << figure(medians[order[k]], 3);
  out << '\n';
}

/// Prints a summary of a large matrix: its link classes, and the worst rows and columns.
void print_large(std::ostream& out, const MatrixResult& result, std::size_t max_display) {
  const CellSummary& cells = *result.large;
  out << '\n'
      << result.testcase << ": " << result.quantity << " (" << result.unit << "), " << result.size_bytes << " bytes, "
      << result.rows.size() << " x " << result.columns.size() << " cells, in " << cells.file << '\n';
  for (const auto& one : cells.classes)
    out << one.name << ": " << one.measured << " cells, min " << figure(one.least, 3) << "  median "
        << figure(one.median, 3) << "  max " << figure(one.most, 3) << '\n';
  const bool latency = result.metric == Metric::latency;
  print_worst(out, "rows", result.rows, cells.row_medians, latency, max_display);
  print_worst(out, "columns", result.columns, cells.column_medians, latency, max_display);
  print_schedule(out, result);
  print_verified(out, result);
  if (!result.complete())
    out << "incomplete: " << result.cells(CellStatus::ok) << " of " << result.cells_expected() << " cells measured\n";
  for (const auto& note : result.notes) out << "note: " << note << '\n';
}

}  // namespace

void print_result(std::ostream& out, const MatrixResult& result, std::size_t max_display) {
  if (result.large) return print_large(out, result, max_display);
  const auto print = [&](const std::string& title, const std::string& unit, const Values& values) {
    print_table_head(out, result, title, unit);
    print_grid(out, result.rows, result.columns, max_display,
               [&](std::size_t r, std::size_t c) { return cell_text(result, values, unit, r, c); });
  };
  out << '\n';
  print(result.quantity, result.unit, result.values);
  print_summary(out, result);
  print_fit(out, result);
  print_schedule(out, result);
  print_verified(out, result);
  if (!result.complete())
    out << "incomplete: " << result.cells(CellStatus::ok) << " of " << result.cells_expected() << " cells measured\n";
  for (const auto& note : result.notes) out << "note: " << note << '\n';
  for (const auto& reason : result.throttled) out << "throttled: " << reason << '\n';
  for (const auto& [name, part] : result.parts) {
    if (name.starts_with("fit_")) continue;
    out << '\n';
    print(part.title, part.unit, part.values);
  }
}

}  // namespace linkmatrix
