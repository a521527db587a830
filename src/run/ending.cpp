#include "run/ending.hpp"

#include <algorithm>
#include <new>
#include <system_error>

#include "core/clock.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

bool has_cells(const Record& record, CellStatus status) {
  return std::any_of(record.results.begin(), record.results.end(),
                     [status](const MatrixResult& result) { return result.cells(status) > 0; });
}

/// Returns the first cell with a status, "gpu0->gpu1"; "" if the cells are in a file.
std::string first_cell(const MatrixResult& result, CellStatus status) {
  for (std::size_t r = 0; r < result.status.rows(); ++r)
    for (std::size_t c = 0; c < result.status.columns(); ++c)
      if (result.status(r, c) == status) return result.rows[r] + "->" + result.columns[c];
  return "";
}

/// Returns the last note on the cell, ": clocks disagree: …"; "" without a note.
std::string reason_of(const MatrixResult& result, const std::string& cell) {
  const auto note = std::find_if(result.notes.rbegin(), result.notes.rend(),
                                 [&](const std::string& text) { return text.starts_with(cell + ": "); });
  return note == result.notes.rend() ? "" : note->substr(cell.size());
}

/// Returns e.g. "write: 2 cells timed out, gpu0->gpu1 the first: it hung; read: …".
std::string cells_sentence(const Record& record, CellStatus status, const std::string& verb) {
  constexpr std::size_t most = 3;  // matrices in the sentence; the record contains all
  std::vector<std::string> each;
  for (const MatrixResult& result : record.results) {
    const std::size_t cells = result.cells(status);
    if (cells == 0) continue;
    std::string text = result.testcase + ": " + std::to_string(cells) + (cells == 1 ? " cell " : " cells ") + verb;
    if (const std::string first = first_cell(result, status); !first.empty())
      text += ", " + first + (cells == 1 ? "" : " the first") + reason_of(result, first);
    each.push_back(std::move(text));
  }
  const std::size_t matrices = each.size();
  each.resize(std::min(matrices, most));
  if (matrices > most) each.push_back("and " + std::to_string(matrices - most) + " more matrices");
  return join(each, "; ");
}

/// Returns why cells failed in a run without lost endpoints.
std::string why_cells_ended(const Record& record) {
  std::vector<std::string> each;
  for (const auto& [status, verb] : {std::pair{CellStatus::timeout, "timed out"}, {CellStatus::error, "failed"}})
    if (has_cells(record, status)) each.push_back(cells_sentence(record, status, verb));
  return join(each, "; ");
}

bool is_good(const MatrixResult& result) { return result.complete() && result.verified().value_or(true); }

/// Returns the expected test cases without a result.
std::vector<std::string> missing(const Record& record) {
  std::vector<std::string> names;
  for (const std::string& name : record.expected)
    if (std::none_of(record.results.begin(), record.results.end(),
                     [&](const MatrixResult& result) { return result.testcase == name; }))
      names.push_back(name);
  return names;
}

constexpr const char* no_room = "out of memory";  // short, so that the string needs no allocation

std::string full_sentence_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
    return "out of host memory: the system, a cgroup or `ulimit -v` limits this process";
  const auto* system = dynamic_cast<const std::system_error*>(&e);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return std::string("the system refuses a further thread (") + e.what() +
           "): raise `ulimit -u` or pids.max of the cgroup";
  return e.what();
}

std::string lost_sentence(const Record& record) {
  std::vector<std::string> each;
  for (const auto& endpoint : record.lost) each.push_back(endpoint.label + " was lost: " + endpoint.why);
  return join(each, "; ");
}

}  // namespace

Ending judge(const Record& record) {
  std::optional<std::string> error;
  if (!record.lost.empty()) error = lost_sentence(record);
  // Report failed cells of complete matrices before other problems.
  const bool late_cells = has_cells(record, CellStatus::timeout), failed_cells = has_cells(record, CellStatus::error);
  if (!error && (late_cells || failed_cells)) error = why_cells_ended(record);
  if (late_cells) return late(*error);
  if (error) return broken(*error);
  if (const auto names = missing(record); !names.empty()) return broken("no result for " + join(names));
  if (record.soak && record.soak->failures > 0) return failed();
  return std::all_of(record.results.begin(), record.results.end(), is_good) ? passed() : failed();
}

std::string sentence_of(const std::exception& e) {
  try {
    return full_sentence_of(e);
  } catch (const std::bad_alloc&) {
    return no_room;
  }
}

Ending ending_of(const std::exception& e) {
  try {
    if (dynamic_cast<const BadInput*>(&e) != nullptr) return refused(e.what());
    if (dynamic_cast<const TimedOut*>(&e) != nullptr) {
      const std::string signal = stop_reason();
      return late(signal.empty() ? e.what() : signal);
    }
    return broken(full_sentence_of(e));
  } catch (const std::bad_alloc&) {
    return broken(no_room);
  }
}

}  // namespace linkmatrix
