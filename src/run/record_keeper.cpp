#include "run/record_keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>

#include "run/atomic_file.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

/// Maximum fraction of time spent on checkpoints. Slower checkpoints are therefore less frequent.
constexpr double most_share = 0.05;

constexpr const char* unfinished = "the run did not end normally: this is its last checkpoint";

std::string seconds_text(double seconds) {
  std::ostringstream out;
  out.precision(3);
  out << seconds << " s";
  return out.str();
}

}  // namespace

void RecordKeeper::keep_in(const std::filesystem::path& file) {
  if (has_file())
    return;  // the file was writable at the start, so continue after a temporary failure of the file system
  check_writable(file);
  const std::lock_guard lock(mutex_);
  file_ = file;
}

std::optional<std::filesystem::path> RecordKeeper::file() const {
  const std::lock_guard lock(mutex_);
  return file_;
}

RecordKeeper::Moment RecordKeeper::next_checkpoint() const {
  const Seconds between = std::max(between_, Seconds(cost_ / most_share));
  return began_ + std::chrono::duration_cast<Clock::duration>(between);
}

void RecordKeeper::checkpoint_if_due(const Notify& notify) {
  if (checkpoint_ && !checkpoint_->outcome()) return;
  if (Clock::now() < next_checkpoint() || !has_file() || record_.version() == saved_) return;
  began_ = Clock::now();
  const unsigned number = last_checkpoint_ = ++newest_;
  checkpoint_.emplace(
      [this, number] {
        const Moment begin = Clock::now();
        Snapshot now = text_.take();
        now.head.result = "INCOMPLETE";
        now.head.error = unfinished;
        const std::string why = write(now.head, now, number);
        cost_ = seconds_since(begin);
        if (why.empty()) saved_ = now.version, saved_at_ = seconds_since(start_);
        return why;
      },
      notify);
}

Attempt RecordKeeper::write_ended(const Ending& ending) {
  const unsigned number = ++newest_;
  return Attempt(
      [this, ending, number] {
        try {
          return write_as(ending, number);
        } catch (const std::bad_alloc&) {  // now the reserved memory is free: try again
          return write_as(ending, number);
        }
      },
      [] {});
}

std::string RecordKeeper::write_as(const Ending& ending, unsigned number) {
  Snapshot now = text_.take();
  now.head.result = ending.word;
  now.head.error = ending.error;
  if (cost_ / most_share > between_.count())
    now.head.notes.push_back("writing a checkpoint of this record takes " + seconds_text(cost_) +
                             ", so a checkpoint was written only every " + seconds_text(cost_ / most_share));
  const std::string why = write(now.head, now, number);
  return why.empty() ? "" : refusal(why);
}

Attempt RecordKeeper::remove_temporary_files() const {
  return Attempt(
      [file = file(), first = last_checkpoint_, last = newest_.load()] {
        for (unsigned number = first; file && number <= last; ++number) remove_partial(*file, static_cast<int>(number));
        return std::string();
      },
      [] {});
}

std::optional<std::string> RecordKeeper::disk_full_text() const {
  const auto outcome = checkpoint_ ? checkpoint_->outcome() : std::nullopt;
  if (!outcome || (*outcome != std::strerror(ENOSPC) && *outcome != std::strerror(EDQUOT))) return std::nullopt;
  return refusal(*outcome);
}

std::string RecordKeeper::refusal(const std::string& why) const {
  return "--record '" + file()->string() + "' cannot be written (" + why + ")" + what_remains();
}

std::string RecordKeeper::too_slow(Seconds waited) const {
  return "--record '" + file()->string() + "' was not written within " + seconds_text(waited.count()) +
         " (its file system may hang)" + what_remains();
}

std::string RecordKeeper::what_remains() const {
  const double at = saved_at_;
  return at > 0 ? ": the file contains the checkpoint " + seconds_text(at) + " after the start"
                : ": the file contains nothing of this run";
}

std::string RecordKeeper::write(RecordHead& head, const Snapshot& now, unsigned number) {
  head.seconds = seconds_since(start_);
  return write_(to_json(head, now.results), *file(), static_cast<int>(number),
                [this, number] { return newest_ == number; });
}

Snapshot RecordText::take() {
  Snapshot now;
  {
    const std::lock_guard lock(mutex_);
    now.results = finished_;
  }
  now.version = record_.version();
  const auto fresh = record_.read([&now](const Record& record) {
    now.head = record;
    const auto known = static_cast<std::ptrdiff_t>(now.results.size());
    return std::vector<MatrixResult>(record.results.begin() + known, record.results.end());
  });
  for (const MatrixResult& result : fresh) now.results.push_back(std::make_shared<const std::string>(to_json(result)));
  if (fresh.empty()) return now;
  now.last = fresh.back();
  const std::lock_guard lock(mutex_);
  if (now.results.size() > finished_.size() + 1) finished_.assign(now.results.begin(), now.results.end() - 1);
  return now;
}

Attempt::Attempt(std::function<std::string()> work, std::function<void()> notify) : state_{std::make_shared<State>()} {
  const auto act = [state = state_, work = std::move(work), notify = std::move(notify)] {
    std::string outcome;
    try {
      outcome = work();
    } catch (const std::exception& e) {
      outcome = sentence_of(e);
    }
    {
      const std::lock_guard lock(state->mutex);
      state->outcome = std::move(outcome);
      state->changed.notify_all();
    }
    notify();
  };
  try {
    std::thread(act).detach();
  } catch (const std::system_error&) {
    act();
  }
}

std::optional<std::string> Attempt::outcome() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outcome;
}

std::optional<std::string> Attempt::wait(std::chrono::duration<double> time) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, time, [this] { return state_->outcome.has_value(); });
  return state_->outcome;
}

}  // namespace linkmatrix
