#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

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

}  // namespace linkmatrix
