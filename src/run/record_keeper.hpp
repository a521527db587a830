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

/// Runs work that may never return, such as a write to a file system that hangs, on its own thread, so that waiting can
/// be limited. Objects that the work uses must outlive it. If no thread can be created, the work runs immediately.
class Attempt {
 public:
  /// work: returns the reason of a failure, or ""; an exception becomes such a sentence. notify: called when the work
  /// is done.
  Attempt(std::function<std::string()> work, std::function<void()> notify);

  /// Returns the outcome of the work; nothing if the work is not done.
  std::optional<std::string> outcome() const;
  /// Waits at most `time` and returns the outcome.
  std::optional<std::string> wait(std::chrono::duration<double> time) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> outcome;
  };
  std::shared_ptr<State> state_;
};

/// A record at one moment.
struct Snapshot {
  RecordHead head;
  std::vector<ResultText> results;
  std::optional<MatrixResult> last;  ///< the last of the results
  std::uint64_t version = 0;         ///< minimum version of the record
};

/// Takes snapshots of a record that other threads change. Only changed parts are copied under the lock. Finished
/// results (all but the last) are formatted once.
class RecordText {
 public:
  explicit RecordText(const Guarded<Record>& record) : record_{record} {}
  Snapshot take();

 private:
  const Guarded<Record>& record_;
  std::mutex mutex_;  ///< protects the following fields
  std::vector<ResultText> finished_;
};

/// Writes checkpoints of a record during a run, and the final record. No function waits for a write: all writes are
/// attempts, and only the newest attempt may replace the file.
class RecordKeeper {
 public:
  using Moment = Clock::time_point;
  using Seconds = std::chrono::duration<double>;
  using Write = std::function<std::string(const std::string& text, const std::filesystem::path& file, int number,
                                          const std::function<bool()>& is_current)>;
  using Notify = std::function<void()>;

  RecordKeeper(const Guarded<Record>& record, Moment start, Seconds between, Write write)
      : record_{record}, text_{record}, start_{start}, between_{between}, write_{std::move(write)} {}

  /// Sets the file. Throws BadInput if the file cannot be written.
  void keep_in(const std::filesystem::path& file);
  bool has_file() const { return file().has_value(); }

  /// Returns a sentence if the disk was too full for a checkpoint, because later checkpoints will not fit either.
  std::optional<std::string> no_room() const;
  /// Starts a checkpoint if the record has changed, the interval has passed, and the last checkpoint is done.
  void checkpoint_if_due(const Notify& notify);
  /// Returns the time of the next possible checkpoint.
  Moment next_checkpoint() const;
  /// Returns the current or last checkpoint.
  const std::optional<Attempt>& checkpoint() const { return checkpoint_; }

  /// Writes the final record. The outcome is an error sentence, or "". Unfinished checkpoints are discarded.
  Attempt write_ended(const Ending& ending);
  /// Removes the temporary files of unfinished writes.
  Attempt clear_up() const;
  /// Returns the sentence for a write that did not end in time.
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
  std::atomic<unsigned> newest_{0};      ///< number of the newest attempt
  std::atomic<std::uint64_t> saved_{0};  ///< version of the record in the file
  std::atomic<double> saved_at_{0};      ///< time of the last checkpoint, in seconds after the start; 0: never
  std::atomic<double> cost_{0};          ///< duration of the last checkpoint in seconds
  std::optional<Attempt> checkpoint_;
  unsigned last_checkpoint_ = 1;  ///< number of the last checkpoint
  Moment began_{};                ///< start of the last checkpoint
};

}  // namespace linkmatrix
