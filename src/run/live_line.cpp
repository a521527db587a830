#include "run/live_line.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace linkmatrix {
namespace {

constexpr std::chrono::milliseconds pause{250};
constexpr std::size_t most_counted = 256;  // rows: the cells of larger matrices are not counted each time
constexpr std::size_t usual_columns = 80, most_columns = 200;
constexpr double soonest = 2;                  // seconds, before which nobody can say how long it will take
constexpr std::string_view erase = "\r\33[K";  // to the beginning of the line, and what is right of it

bool is_dumb() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || *kind == '\0' || std::string_view(kind) == "dumb";
}

/// A description of its own, so that it alone does not wait.
std::unique_ptr<Descriptor> opened(int output, int errors) {
  if (::isatty(output) == 0 || ::isatty(errors) == 0 || is_dumb()) return nullptr;
  std::array<char, PATH_MAX> name{};
  if (::ttyname_r(errors, name.data(), name.size()) != 0) return nullptr;
  auto found =
      std::make_unique<Descriptor>(::open(name.data(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));  // NOLINT
  return found->is_open() ? std::move(found) : nullptr;
}

std::string left(const Progress& progress) {
  if (!progress.seconds_left) return {};
  const double seconds = std::max(1.0, *progress.seconds_left);
  if (seconds < 100) return std::to_string(std::lround(seconds)) + " s left";
  return std::to_string(std::lround(seconds / 60)) + " min left";
}

std::string joined(const std::array<std::string, 4>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace

std::string live_text(const Progress& progress, std::size_t columns) {
  const auto of = [](std::size_t one, std::string_view word, std::size_t all) {
    return std::to_string(one) + std::string(word) + std::to_string(all);
  };
  const std::string time = left(progress), about = time.empty() ? "" : "about " + time;
  const bool counted = progress.cells > 0;
  const std::string cells = counted ? of(progress.done, " of ", progress.cells) + " cells" : "";
  const std::string matrix = "matrix " + of(progress.matrix, " of ", progress.matrices);
  const std::string few = counted ? of(progress.done, "/", progress.cells) + " cells" : "";
  const std::array texts{
      joined({progress.testcase, cells, matrix, about}),
      joined({cells, matrix, about, ""}),
      joined({few, of(progress.matrix, "/", progress.matrices), time, ""}),
      time.empty() ? of(progress.matrix, "/", progress.matrices) : time,
  };
  for (const std::string& text : texts)
    if (text.size() < columns) return text;  // one column stays free: some terminals fold a full line
  return {};
}

LiveLine::LiveLine(int output, int errors) : terminal_{opened(output, errors)} {}

void LiveLine::expect(std::size_t matrices) {
  const std::lock_guard lock(mutex_);
  matrices_ = matrices;
  began_ = next_ = Clock::now();
}

Clock::time_point LiveLine::next() const {
  const std::lock_guard lock(mutex_);
  return terminal_ && matrices_ > 0 ? next_ : Clock::time_point::max();
}

void LiveLine::draw_if_due(const Guarded<Record>& record, std::size_t printed) {
  if (Clock::now() < next()) return;
  std::optional<Progress> now;
  record.look([&](const Record& all) {
    if (all.results.size() > printed) now = progress(all);
  });
  const std::lock_guard lock(mutex_);
  next_ = Clock::now() + pause;
  if (hidden_ > 0 || !is_ours()) return;
  const std::string text = now ? live_text(*now, columns()) : "";
  if (drawn_ || !text.empty()) write(std::string(erase) + text);
  drawn_ = !text.empty();
}

Progress LiveLine::progress(const Record& record) {
  const MatrixResult& result = record.results.back();
  Progress out;
  out.testcase = result.testcase;
  out.matrix = record.results.size();
  out.matrices = std::max(matrices_, out.matrix);
  double part = 0;
  if (!result.large && result.status.rows() <= most_counted) {
    const std::size_t all = result.status.rows() * result.status.columns();
    out.cells = all - result.cells(CellStatus::not_applicable);
    out.done = out.cells - result.cells(CellStatus::not_run);
    part = out.cells > 0 ? static_cast<double>(out.done) / static_cast<double>(out.cells) : 0;
  }
  const double share = (static_cast<double>(out.matrix - 1) + part) / static_cast<double>(out.matrices);
  const double took = seconds_since(began_);
  if (took >= soonest && share > 0) out.seconds_left = took * (1 - share) / share;
  return out;
}

void LiveLine::hide() {
  const std::lock_guard lock(mutex_);
  ++hidden_;
  if (drawn_) write(std::string(erase));
  drawn_ = false;
}

void LiveLine::show() {
  const std::lock_guard lock(mutex_);
  --hidden_;
}

/// Best effort: what does not go out at once is not worth waiting for.
void LiveLine::write(const std::string& text) const { (void)!::write(terminal_->number(), text.data(), text.size()); }

std::size_t LiveLine::columns() const {
  winsize size{};
  if (::ioctl(terminal_->number(), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return std::min<std::size_t>(size.ws_col, most_columns);
}

/// A process in the background would be stopped for writing where the terminal says so.
bool LiveLine::is_ours() const {
  const pid_t front = ::tcgetpgrp(terminal_->number());
  return front < 0 || front == ::getpgrp();
}

}  // namespace linkmatrix
