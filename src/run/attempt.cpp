#include "run/attempt.hpp"

#include <exception>
#include <system_error>
#include <thread>

#include "run/ending.hpp"

namespace linkmatrix {

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
