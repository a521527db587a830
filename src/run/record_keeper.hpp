#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/guarded.hpp"
#include "core/record.hpp"
#include "run/ending.hpp"

namespace linkmatrix {

/// Runs work that may hang, such as a write to a file system, on its own thread, so that waiting can be limited.
/// Objects that the work uses must outlive it. If no thread can be created, the constructor runs the work.
class Attempt {
 public:
  /// work: returns an error sentence, or ""; an exception becomes an error sentence. notify: called after the work, on
  /// its thread.
  Attempt(std::function<std::string()> work, std::function<void()> notify);

  /// Returns the result of `work`; nothing if the work is not done.
  std::optional<std::string> outcome() const;
  /// Waits at most `time`. Returns as outcome().
  std::optional<std::string> wait(std::chrono::duration<double> time) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> outcome;
  };
  std::shared_ptr<State> state_;
};

/// A copy of the record.
struct Snapshot {
  RecordHead head;
  std::vector<ResultText> results;
  std::optional<MatrixResult> last;  ///< the last result, which may be unfinished
  std::uint64_t version = 0;         ///< Guarded::version() before the copy
};

/// Takes snapshots of a record that another thread changes. Copies only changed parts under the lock. Formats each
/// finished result (all except the last) once.
class RecordText {
 public:
  explicit RecordText(const Guarded<Record>& record) : record_{record} {}
  Snapshot take();

 private:
  const Guarded<Record>& record_;
  std::mutex mutex_;  ///< protects the following fields
  std::vector<ResultText> finished_;
};

/// Writes checkpoints of a record during a run, and the final record. No function waits for a write: every write is an
/// Attempt, and only the newest may replace the file. Used by the supervisor's thread, except keep_in() and has_file().
class RecordKeeper {
 public:
  using Moment = Clock::time_point;
  using Seconds = std::chrono::duration<double>;
  using Write = std::function<std::string(const std::string& text, const std::filesystem::path& file, int number,
                                          const std::function<bool()>& is_current)>;
  using Notify = std::function<void()>;

  RecordKeeper(const Guarded<Record>& record, Moment start, Seconds between, Write write)
      : record_{record}, text_{record}, start_{start}, between_{between}, write_{std::move(write)} {}

  /// Sets the file. Throws BadInput if the file cannot be written. Called by the measuring thread.
  void keep_in(const std::filesystem::path& file);
  bool has_file() const { return file().has_value(); }

  /// Returns a sentence if the disk was too full for a checkpoint; otherwise nothing.
  std::optional<std::string> disk_full_text() const;
  /// Starts a checkpoint if the record has changed, the interval has passed, and no checkpoint is running.
  void checkpoint_if_due(const Notify& notify);
  /// Returns the earliest time of the next checkpoint.
  Moment next_checkpoint() const;
  /// Returns the current or last checkpoint.
  const std::optional<Attempt>& checkpoint() const { return checkpoint_; }

  /// Starts to write the final record. Discards unfinished checkpoints.
  Attempt write_ended(const Ending& ending);
  /// Starts to remove the temporary files of unfinished writes.
  Attempt remove_temporary_files() const;
  /// Returns the error sentence for a write that did not end in time.
  std::string too_slow(Seconds waited) const;

  Snapshot snapshot() { return text_.take(); }

 private:
  std::optional<std::filesystem::path> file() const;
  std::string write_as(const Ending& ending, unsigned number);
  std::string write(RecordHead& head, const Snapshot& now, unsigned number);
  std::string refusal(const std::string& why) const;
  std::string what_remains() const;

  const Guarded<Record>& record_;
  RecordText text_;
  const Moment start_;
  const Seconds between_;
  const Write write_;
  mutable std::mutex mutex_;  ///< protects the name of the file
  std::optional<std::filesystem::path> file_;
  std::atomic<unsigned> newest_{0};      ///< number of the newest write
  std::atomic<std::uint64_t> saved_{0};  ///< version of the record in the file
  std::atomic<double> saved_at_{0};      ///< time of the last checkpoint, in seconds after the start; 0: never
  std::atomic<double> cost_{0};          ///< duration of the last checkpoint in seconds
  std::optional<Attempt> checkpoint_;
  unsigned last_checkpoint_ = 1;  ///< number of the last checkpoint
  Moment began_{};                ///< start of the last checkpoint
};

}  // namespace linkmatrix
