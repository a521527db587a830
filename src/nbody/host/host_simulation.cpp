#include "nbody/host/host_simulation.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "nbody/host/forces.hpp"

namespace linkmatrix {
namespace {

/// Barrier of the threads. Throws in all threads if one does not arrive in time.
class Meeting {
 public:
  explicit Meeting(std::size_t threads) : threads_{threads} {}

  void leave() { left_ = true; }

  void wait(Deadline deadline) {
    const std::size_t generation = generation_;
    if (++waiting_ == threads_) {
      waiting_ = 0;
      ++generation_;
      return;
    }
    while (generation_ == generation) {
      if (left_) throw TimedOut("another thread did not reach the barrier");
      if (deadline.passed()) throw TimedOut("the step did not finish in time");
      std::this_thread::yield();
    }
  }

 private:
  const std::size_t threads_;
  std::atomic<std::size_t> waiting_ = 0, generation_ = 0;
  std::atomic<bool> left_ = false;
};

/// State shared with the threads. A thread that hangs may outlive the simulation.
template <class T>
struct Shared {
  Split split;
  std::vector<HostPart<T>> parts;
  bool odd = false;
};

/// A thread and its bodies.
struct Hand {
  Worker* worker;
  std::size_t number;
  int part;
  std::uint64_t begin, end;
};

template <class T>
class HostSimulation final : public Simulation {
 public:
  explicit HostSimulation(std::shared_ptr<std::vector<HostEndpointState>> endpoints)
      : endpoints_{std::move(endpoints)} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override {
    refuse_too_many_bodies(wanted, wanted.devices);
    shared_ = std::make_shared<Shared<T>>();
    shared_->split = Split(wanted.bodies, wanted.devices);
    shared_->parts.resize(static_cast<std::size_t>(wanted.devices));
    hands_.clear();
    for (int part = 0; part < wanted.devices; ++part) add_hands(part);
    restart(deadline);
  }

  void restart(Deadline deadline) override {
    shared_->odd = false;
    all(
        [shared = shared_](const Hand& hand, Meeting&) {
          if (hand.begin == 0) part_of(*shared, hand).begin(shared->split, hand.part);
        },
        deadline);
  }

  double run(int steps, const Step& step, Deadline deadline) override {
    auto seconds = std::make_shared<std::vector<double>>(hands_.size());
    all(
        [shared = shared_, seconds, steps, step, deadline](const Hand& hand, Meeting& meeting) {
          meeting.wait(deadline);
          const auto began = Clock::now();
          for (int s = 0; s < steps; ++s) {
            const bool odd = shared->odd != (s % 2 == 1);
            advance(part_of(*shared, hand), shared->split, hand.part, hand.begin, hand.end, odd, step, deadline);
            send(*shared, hand, !odd);
            meeting.wait(deadline);
          }
          (*seconds)[hand.number] = seconds_since(began);
        },
        deadline);
    shared_->odd = shared_->odd != (steps % 2 == 1);
    return *std::ranges::max_element(*seconds);
  }

  std::vector<int> parts() const override {
    std::vector<int> parts(shared_->parts.size());
    std::iota(parts.begin(), parts.end(), 0);
    return parts;
  }
  std::vector<Vector4<double>> positions(int part) override {
    return as_double(at(part).positions[shared_->odd].get(), shared_->split.places());
  }
  std::vector<Vector4<double>> velocities(int part) override {
    return as_double(at(part).velocities.get(), shared_->split.count(part));
  }

 private:
  using Work = std::function<void(const Hand&, Meeting&)>;

  const HostEndpointState& endpoint(int part) const { return (*endpoints_)[static_cast<std::size_t>(part)]; }
  HostPart<T>& at(int part) { return shared_->parts[static_cast<std::size_t>(part)]; }
  static HostPart<T>& part_of(Shared<T>& shared, const Hand& hand) {
    return shared.parts[static_cast<std::size_t>(hand.part)];
  }

  void add_hands(int part) {
    Team& team = *endpoint(part).team;
    const auto threads = team.threads(team.most());
    const std::uint64_t count = shared_->split.count(part), n = threads.size();
    for (std::uint64_t t = 0; t < n; ++t)
      hands_.push_back({threads[t].get(), hands_.size(), part, count * t / n, count * (t + 1) / n});
  }

  /// Copies new positions into the memory of the other devices.
  static void send(Shared<T>& shared, const Hand& hand, bool odd) {
    const std::uint64_t place = shared.split.place_of(hand.part) + hand.begin;
    const Vector4<T>* const from = part_of(shared, hand).positions[odd].get() + place;
    for (HostPart<T>& other : shared.parts)
      if (&other != &part_of(shared, hand))
        std::copy_n(from, hand.end - hand.begin, other.positions[odd].get() + place);
  }

  /// Waits for every thread, also after a failure.
  void all(const Work& work, Deadline deadline) {
    auto meeting = std::make_shared<Meeting>(hands_.size());
    std::exception_ptr failure;
    const auto keep = [&](const auto& call) {
      try {
        call();
      } catch (...) {
        if (!failure) failure = std::current_exception();
        meeting->leave();
      }
    };
    for (const Hand& hand : hands_)
      keep([&] {
        hand.worker->start([work, meeting, hand] {
          try {
            work(hand, *meeting);
          } catch (...) {
            meeting->leave();
            throw;
          }
        });
      });
    for (const Hand& hand : hands_)
      keep([&] {
        if (hand.worker->wait(deadline)) return;
        meeting->leave();
        if (!hand.worker->wait_after_deadline())
          throw TimedOut(endpoint(hand.part).endpoint.label + ": its thread hangs");
      });
    if (failure) std::rethrow_exception(failure);
  }

  std::shared_ptr<std::vector<HostEndpointState>> endpoints_;
  std::shared_ptr<Shared<T>> shared_;
  std::vector<Hand> hands_;
};

}  // namespace

std::unique_ptr<Simulation> make_host_simulation(std::vector<HostEndpointState> endpoint_states) {
  auto endpoints = std::make_shared<std::vector<HostEndpointState>>(std::move(endpoint_states));
  return std::make_unique<EitherPrecision>([endpoints](Precision precision) -> std::unique_ptr<Simulation> {
    if (precision == Precision::f32) return std::make_unique<HostSimulation<float>>(endpoints);
    return std::make_unique<HostSimulation<double>>(endpoints);
  });
}

}  // namespace linkmatrix
