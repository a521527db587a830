#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/guarded.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// How far a run has come.
struct Progress {
  std::string testcase;
  std::size_t matrix = 0, matrices = 0;  ///< the one that is measured, from 1, and all of the run
  std::size_t done = 0, cells = 0;       ///< of that matrix; 0 cells: not counted
  std::optional<double> seconds_left;    ///< by what was measured until now
};

/// As much of it as stands on one line of so many columns; empty where nothing does. ASCII, without colours.
std::string live_text(const Progress& progress, std::size_t columns);

/// One line on a terminal about what a run does at the moment, which is gone as soon as something is printed. In a job,
/// a pipe or a file there is none: standard output and standard error must both be terminals.
///
/// It never waits: the terminal is opened once more for it, and a write that would wait is left out.
class LiveLine {
 public:
  LiveLine(int output, int errors);

  /// From now on it is drawn, in a run of so many matrices.
  void expect(std::size_t matrices);
  /// When it is to be drawn again; never where it is not drawn at all.
  Clock::time_point next() const;
  /// Draws it if it is time. `printed`: results that are in a table already.
  void draw_if_due(const Guarded<Record>& record, std::size_t printed);

  /// While it lives the line is gone and is not drawn: somebody else writes.
  class Hidden {
   public:
    explicit Hidden(LiveLine& line) : line_{line} { line_.hide(); }
    ~Hidden() { line_.show(); }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    LiveLine& line_;
  };

 private:
  void hide();
  void show();
  void write(const std::string& text) const;
  std::size_t columns() const;
  bool is_ours() const;
  Progress progress(const Record& record);

  std::unique_ptr<Descriptor> terminal_;  ///< none: there is nothing to draw on
  mutable std::mutex mutex_;              ///< of what follows
  std::size_t matrices_ = 0;              ///< 0: nothing is drawn yet
  int hidden_ = 0;
  bool drawn_ = false;
  Clock::time_point next_{}, began_{};
};

}  // namespace linkmatrix
