#include "core/record.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iomanip>
#include <sstream>

#include "core/json.hpp"
#include "core/machine_json.hpp"

namespace linkmatrix {
namespace {

constexpr int short_digits = 4;    // significant digits of short samples, of which a record contains many
constexpr int compact_digits = 6;  // significant digits of samples and times

void write_parts(JsonWriter& w, const std::map<std::string, Part>& parts) {
  w.key("parts").begin_object();
  for (const auto& [name, part] : parts) {
    w.key(name).begin_object();
    w.member("title", part.title).member("unit", part.unit).member("values", part.values);
    w.end_object();
  }
  w.end_object();
}

template <class T>
std::optional<T> unless_zero(T value) {
  return value == T{} ? std::nullopt : std::optional(value);
}

void write_items(JsonWriter& w, std::string_view name, const std::vector<Health::Item>& items) {
  w.key(name).begin_array();
  for (const auto& item : items)
    w.begin_object().member("name", item.name).member("before", item.before).member("after", item.after).end_object();
  w.end_array();
}

void write_health(JsonWriter& w, const std::vector<Health>& health) {
  w.key("health").begin_array();
  for (const auto& device : health) {
    w.begin_object().member("label", device.label);
    write_items(w, "counters", device.counters);
    write_items(w, "readings", device.readings);
    w.end_object();
  }
  w.end_array();
}

void write_schedule(JsonWriter& w, const Schedule& schedule) {
  w.key("schedule").begin_object();
  w.member("mode", schedule.bisection   ? "bisection"
                   : schedule.matchings ? "matchings"
                   : schedule.at_once   ? "rounds"
                                        : "serial")
      .member("rounds", schedule.rounds);
  w.member("pairs_at_once", schedule.pairs_at_once).member("interference", schedule.interference);
  w.member("witnessed", schedule.controlled_rounds);
  w.end_object();
}

void write_again(JsonWriter& w, std::string_view name, const MatrixResult& result,
                 const std::vector<Remeasured>& cells) {
  w.key(name).begin_array();
  for (const auto& cell : cells) {
    w.begin_object();
    w.member("row", result.rows[cell.row]).member("column", result.columns[cell.column]);
    w.member("before", cell.before).member("after", cell.after);
    if (cell.outcome) w.member("outcome", word(*cell.outcome));
    w.end_object();
  }
  w.end_array();
}

std::string_view directions_of(const Matchings::SlowEndpoint& found) {
  if (found.sends && found.receives) return "sends and receives";
  return found.sends ? "sends" : "receives";
}

void write_slow_endpoints(JsonWriter& w, const MatrixResult& result) {
  const Matchings& matchings = *result.matchings;
  w.key("slow_endpoints").begin_array();
  for (const auto& found : matchings.slow_endpoints) {
    w.begin_object().member("endpoint", result.rows[found.endpoint]).member("direction", directions_of(found));
    w.member("shift", found.shift).member("slow", found.slow).member("cells", found.cells);
    w.member("slow_again", found.slow_again).member("confirmed", found.confirmed);
    w.member("reproduced", found.is_reproduced()).end_object();
  }
  w.end_array().key("slow_cells").begin_object();
  w.member("rows", matchings.slow_rows).member("columns", matchings.slow_columns).end_object();
}

void write_matchings(JsonWriter& w, const MatrixResult& result) {
  const Matchings& matchings = *result.matchings;
  w.key("matchings").begin_object();
  w.member("seed", matchings.seed).member("pause", matchings.pause).member("open", matchings.open);
  if (!matchings.groups.empty()) {
    w.member("groups", matchings.groups).key("crossings").begin_array();
    for (const auto& one : matchings.crossings) {
      w.begin_object().member("from", one.from).member("to", one.to).member("pairs", one.pairs);
      w.member("rate", one.rate).member("best", one.best).member("few", one.few).end_object();
    }
    w.end_array();
  }
  w.key("drawn").begin_array();
  for (const auto& one : matchings.drawn) {
    w.begin_object().member("purpose", word(one.purpose)).member("alone", one.alone);
    w.member("rows", one.rows).member("columns", one.columns).end_object();
  }
  w.end_array();
  if (const auto& found = matchings.shared_bottleneck) {
    w.key("shared_bottleneck").begin_object().member("loss", found->loss);
    w.member("slower", found->slower).member("compared", found->compared).end_object();
  }
  write_slow_endpoints(w, result);
  w.end_object();
}

/// Writes the coverage of the comparison, unless no sample was compared (--no-verify).
void write_coverage(JsonWriter& w, const MatrixResult& result) {
  const Coverage& all = result.coverage;
  if (all.samples == 0) return;
  w.key("coverage").begin_object();
  w.member("samples", all.samples).member("wrong_samples", all.wrong_samples);
  w.member("transfers", all.transfers).member("compared_transfers", all.compared_transfers);
  w.member("compared_share", all.compared_share / static_cast<double>(all.compared_transfers));
  w.key("wrong").begin_array();
  for (const auto& [place, cell] : result.corrupted) {
    w.begin_object().member("row", result.rows[place.first]).member("column", result.columns[place.second]);
    w.member("samples", cell.samples).member("wrong_samples", cell.wrong_samples).end_object();
  }
  w.end_array().end_object();
}

std::optional<std::string_view> peer_access_word(std::optional<bool> on) {
  if (!on) return std::nullopt;
  return *on ? "on" : "off";
}

/// Writes a matrix, or null if no cell is known.
template <class T, class WriteCell>
void write_known(JsonWriter& w, std::string_view name, const Matrix<T>& m, WriteCell write_cell) {
  w.key(name);
  if (std::all_of(m.begin(), m.end(), [](const T& cell) { return cell == T{}; }))
    w.null();
  else
    w.matrix(m, write_cell);
}

/// Writes a cell that is a list of numbers.
auto list_writer(int digits) {
  return [digits](JsonWriter& out, const std::vector<double>& numbers) {
    out.begin_array();
    for (const double number : numbers) out.number_of(number, digits);
    out.end_array();
  };
}

void write_times(JsonWriter& w, std::string_view name, const Values& times) {
  write_known(w, name, times, [](JsonWriter& out, std::optional<double> seconds) {
    seconds ? out.number_of(*seconds, compact_digits) : out.null();
  });
}

/// Writes time and number of samples of each cell.
void write_samples(JsonWriter& w, const MatrixResult& result) {
  write_known(w, "round", result.round, [](JsonWriter& out, const auto& round) { out.value(round); });
  write_times(w, "began", result.began);
  write_times(w, "ended", result.ended);
  write_known(w, "sampled", result.sampled, list_writer(compact_digits));
}

void write_short_samples(JsonWriter& w, const MatrixResult& result) {
  const ShortSampleSet& samples = *result.short_samples;
  const std::vector<std::size_t> counts = result.short_sample_counts();
  w.key("short_samples").begin_object().member("asked", samples.asked);
  w.member("fewest", counts.empty() ? 0 : *std::ranges::min_element(counts));
  w.member("bytes", samples.bytes).member("transfers", samples.transfers).key("passes").begin_array();
  for (const auto& pass : samples.passes) {
    w.begin_object();
    w.key("began").number_of(pass.began, compact_digits);
    w.key("ended").number_of(pass.ended, compact_digits);
    w.key("values").matrix(pass.values, list_writer(short_digits));
    w.end_object();
  }
  w.end_array().end_object();
}

void write_cells(JsonWriter& w, const MatrixResult& result) {
  w.member("values", result.values);
  w.key("status").matrix(result.status, [](JsonWriter& out, CellStatus status) { out.value(word(status)); });
  w.member("low", result.low).member("high", result.high).member("samples", result.samples);
  w.member("converged", result.converged).member("link_class", result.link_class).member("limit", result.limit);
  write_samples(w, result);
  write_parts(w, result.parts);
}

void write_summary(JsonWriter& w, const CellSummary& cells) {
  w.key("cells").begin_object();
  w.member("file", cells.file).member("statuses", cells.statuses).member("counts", cells.counts);
  w.key("classes").begin_array();
  for (const auto& one : cells.classes) {
    w.begin_object().member("link_class", one.name).member("measured", one.measured);
    w.member("min", one.least).member("median", one.median).member("max", one.most);
    if (!one.transport.empty()) w.member("transport", one.transport);
    w.end_object();
  }
  w.end_array();
  w.member("row_medians", cells.row_medians).member("column_medians", cells.column_medians);
  w.end_object();
}

void write_result(JsonWriter& w, const MatrixResult& result) {
  w.begin_object();
  w.member("testcase", result.testcase).member("metric", word(result.metric)).member("quantity", result.quantity);
  w.member("direction", word(result.direction)).member("engine", word(result.engine));
  w.member("kernel", result.kernel ? std::optional(word(*result.kernel)) : std::nullopt);
  w.member("memory", word(result.memory)).member("transport", result.transport);
  w.member("peer_access", peer_access_word(result.peer_access));
  w.member("unit", result.unit).member("size_bytes", result.size_bytes).member("offset", result.offset);
  w.member("blocks", unless_zero(result.blocks)).member("threads", unless_zero(result.threads));
  w.member("host_pages", result.host_pages ? std::optional(word(*result.host_pages)) : std::nullopt);
  if (result.pairs > 0) w.member("pairs", result.pairs);
  w.member("triangle", result.triangle).member("local_copy", result.local_copy);
  if (!result.transports.empty()) w.member("transports", result.transports);
  w.member("rows", result.rows).member("columns", result.columns);
  result.large ? write_summary(w, *result.large) : write_cells(w, result);
  if (result.short_samples) write_short_samples(w, result);
  w.member("verified", result.verified());
  write_coverage(w, result);
  w.member("timing", text_or_null(result.timing));
  w.member("clock_uncertainty_us",
           result.clock_uncertainty ? std::optional(*result.clock_uncertainty * 1e6) : std::nullopt);
  write_schedule(w, result.schedule);
  if (result.matchings) write_matchings(w, result);
  write_again(w, "remeasured", result, result.remeasured);
  write_again(w, "controls", result, result.controls);
  if (!result.controls.empty()) w.member("control_change", result.control_change);
  w.key("targets").begin_object();
  for (const auto& [link_class, target] : result.targets) w.member(link_class, target);
  w.end_object();
  w.member("seconds", result.seconds).member("complete", result.complete());
  w.member("throttled", result.throttled);
  write_others(w, result.others);
  w.member("notes", result.notes);
  w.end_object();
}

}  // namespace

std::string to_json(const MatrixResult& result) {
  JsonWriter w;
  write_result(w, result);
  return w.text();
}

std::string to_json(const Record& record) {
  std::vector<ResultText> results;
  for (const auto& result : record.results) results.push_back(std::make_shared<const std::string>(to_json(result)));
  return to_json(record, results);
}

std::string to_json(const RecordHead& record, std::span<const ResultText> results) {
  JsonWriter w;
  w.begin_object();
  w.member("schema", "linkmatrix.record/2").member("program", record.program).member("version", LINKMATRIX_VERSION);
  w.member("started", record.started).member("seconds", record.seconds);
  w.key("phases").begin_array();
  for (const auto& phase : record.phases)
    w.begin_object().member("name", phase.name).member("seconds", phase.seconds).end_object();
  w.end_array();
  w.member("command", record.command).member("backend", record.backend);
  write_machine(w, record);
  w.key("software").begin_object();
  for (const auto& [name, version] : record.software) w.member(name, version);
  w.end_object();
  write_health(w, record.health);
  write_others(w, record.others);
  w.member("asked_by", record.asked_by).member("expected", record.expected);
  if (record.soak) write_soak(w.key("soak"), *record.soak);
  if (!record.excluded_testcases.empty()) w.member("left_out", record.excluded_testcases);
  w.key("lost").begin_array();
  for (const auto& endpoint : record.lost)
    w.begin_object()
        .member("label", endpoint.label)
        .member("why", endpoint.why)
        .member("kind", word(endpoint.kind))
        .end_object();
  w.end_array();
  w.key("results").begin_array();
  for (const ResultText& result : results) w.json(*result);
  w.end_array();
  w.member("result", record.result).member("error", record.error).member("notes", record.notes);
  w.end_object();
  return w.text() + "\n";
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::ostringstream out;
  out << std::put_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  return out.str();
}

}  // namespace linkmatrix
