#include "core/soak.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "core/machine_json.hpp"

namespace linkmatrix {
namespace {

constexpr int digits = 6;

void write_number(JsonWriter& w, const Series& series, double number) {
  series.count == 0 ? w.null() : w.number_of(number, digits);
}

void write_cells(JsonWriter& w, const Soak::Cells& cells) {
  w.begin_object().member("testcase", cells.testcase).member("unit", cells.unit);
  w.member("size_bytes", cells.size_bytes).member("rows", cells.rows).member("columns", cells.columns);
  const auto map = [&](std::string_view name, const auto& number_of) {
    w.key(name).matrix(cells.series, [&](JsonWriter& out, const Series& s) { write_number(out, s, number_of(s)); });
  };
  w.key("count").matrix(cells.series, [](JsonWriter& out, const Series& s) { out.value(s.count); });
  map("mean", [](const Series& s) { return s.mean; });
  map("deviation", [](const Series& s) { return s.count < 2 ? 0 : std::sqrt(s.m2 / double(s.count - 1)); });
  map("least", [](const Series& s) { return s.least; });
  map("most", [](const Series& s) { return s.most; });
  map("first_at", [](const Series& s) { return s.first_at; });
  map("worst_at", [](const Series& s) { return s.worst_at; });
  w.key("bins").matrix(cells.series, [](JsonWriter& out, const Series& s) {
    out.begin_array();
    for (const Series::Bin& bin : s.bins) bin.count == 0 ? out.null() : out.number_of(bin.mean, digits);
    out.end_array();
  });
  w.end_object();
}

}  // namespace

void Series::add(double value, double at, double share, bool high_is_bad) {
  if (count == 0) {
    least = most = value;
    first_at = worst_at = at;
    bins.resize(Soak::bins);
  }
  if (high_is_bad ? value > most : value < least) worst_at = at;
  least = std::min(least, value);
  most = std::max(most, value);
  ++count;
  const double off = value - mean;
  mean += off / static_cast<double>(count);
  m2 += off * (value - mean);
  const auto last = static_cast<double>(Soak::bins - 1);
  Bin& bin = bins[static_cast<std::size_t>(std::clamp(share * static_cast<double>(Soak::bins), 0.0, last))];
  ++bin.count;
  bin.mean += (value - bin.mean) / static_cast<double>(bin.count);
}

void Soak::note(double at, std::string text) {
  if (events.size() < most_events)
    events.push_back({at, std::move(text)});
  else
    ++events_left_out;
}

std::string soak_text(const Soak& soak) {
  constexpr std::size_t most = 20;
  std::ostringstream out;
  out << "\nsoak: " << soak.passes << " passes in " << soak.seconds << " s\n";
  for (const Soak::Device& one : soak.heated)
    out << one.label << ": " << one.products << " matrix products, " << one.wrong << " with wrong bits\n";
  for (std::size_t e = 0; e < std::min(most, soak.events.size()); ++e)
    out << "after " << soak.events[e].at << " s: " << soak.events[e].text << '\n';
  if (soak.events.size() > most) out << "the record contains further events\n";
  return out.str();
}

void write_soak(JsonWriter& w, const Soak& soak) {
  w.begin_object().member("asked", soak.asked).member("seconds", soak.seconds).member("passes", soak.passes);
  w.member("failures", soak.failures).member("bin_seconds", soak.asked / static_cast<double>(Soak::bins));
  w.key("heated").begin_array();
  for (const Soak::Device& one : soak.heated)
    w.begin_object()
        .member("label", one.label)
        .member("products", one.products)
        .member("wrong", one.wrong)
        .end_object();
  w.end_array();
  w.key("matrices").begin_array();
  for (const Soak::Cells& cells : soak.matrices) write_cells(w, cells);
  w.end_array();
  w.key("events").begin_array();
  for (const Soak::Event& event : soak.events)
    w.begin_object().member("at", event.at).member("what", event.text).end_object();
  w.end_array();
  w.member("events_left_out", soak.events_left_out);
  write_others(w, soak.others);
  w.end_object();
}

}  // namespace linkmatrix
