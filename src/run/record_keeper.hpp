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

/// Something that may never return, a write into a hung file system above all: done on a thread of its own, so that
/// nobody waits for it longer than he wants to. What it uses must outlive it. Where there is no thread to be had it is
/// done at once.
class Attempt {
 public:
  /// `work` returns why it failed, empty where it did not; an exception of it is such a sentence. `notify` is called
  /// when it is done.
  Attempt(std::function<std::string()> work, std::function<void()> notify);

  /// Nothing: it is not done yet.
  std::optional<std::string> outcome() const;
  /// Waits for so long at most.
  std::optional<std::string> wait(std::chrono::duration<double> time) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> outcome;
  };
  std::shared_ptr<State> state_;
};

/// A record as it was at one moment.
struct Snapshot {
  RecordHead head;
  std::vector<ResultText> results;
  std::optional<MatrixResult> last;  ///< of the results
  std::uint64_t version = 0;         ///< of the record, at least
};

/// Takes snapshots of a record that others change: under its lock only what is new is copied, and formatted outside of
/// it. Results that are finished, all but the last, are formatted once.
class RecordText {
 public:
  explicit RecordText(const Guarded<Record>& record) : record_{record} {}
  Snapshot take();

 private:
  const Guarded<Record>& record_;
  std::mutex mutex_;  ///< of what follows
  std::vector<ResultText> finished_;
};

/// Keeps a record in its file: checkpoints while the run goes on, and how it ended. Nothing here waits for a write: all
/// of them are attempts, of which only the newest may replace the file.
class RecordKeeper {
 public:
  using Moment = Clock::time_point;
  using Seconds = std::chrono::duration<double>;
  using Write = std::function<std::string(const std::string& text, const std::filesystem::path& file, int number,
                                          const std::function<bool()>& is_current)>;
  using Notify = std::function<void()>;

  RecordKeeper(const Guarded<Record>& record, Moment start, Seconds between, Write write)
      : record_{record}, text_{record}, start_{start}, between_{between}, write_{std::move(write)} {}

  /// From now on, in this file. Throws BadInput where it cannot be written.
  void keep_in(const std::filesystem::path& file);
  bool has_file() const { return file().has_value(); }

  /// The sentence for a checkpoint for which there was no room, which no later one will have either.
  std::optional<std::string> no_room() const;
  /// Begins a checkpoint where one is due: the record has changed, the last one is long enough ago, and done.
  void checkpoint_if_due(const Notify& notify);
  /// When that is to be asked again.
  Moment next_checkpoint() const;
  /// The checkpoint that is being written, or was last.
  const std::optional<Attempt>& checkpoint() const { return checkpoint_; }

  /// Writes the record as one of a run that ended so; its outcome is a sentence, empty: it is written. Whatever is
  /// still being written is not wanted any more.
  Attempt write_ended(const Ending& ending);
  /// Removes what writes that did not come to their end have left.
  Attempt clear_up() const;
  /// The sentence for a write that did not come to its end.
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
  mutable std::mutex mutex_;  ///< of the file's name
  std::optional<std::filesystem::path> file_;
  std::atomic<unsigned> newest_{0};      ///< number of the attempt that is wanted
  std::atomic<std::uint64_t> saved_{0};  ///< version of the record that the file has
  std::atomic<double> saved_at_{0};      ///< seconds after the start; 0: never
  std::atomic<double> cost_{0};          ///< seconds that the last checkpoint took
  std::optional<Attempt> checkpoint_;
  unsigned last_checkpoint_ = 1;  ///< its number
  Moment began_{};                ///< the last checkpoint
};

}  // namespace linkmatrix
