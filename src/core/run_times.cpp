#include "core/run_times.hpp"

#include <iomanip>
#include <sstream>
#include <thread>

#include "core/clock.hpp"

namespace linkmatrix {
namespace {

struct RunTimes {
  const std::thread::id thread = std::this_thread::get_id();
  Clock::time_point since = Clock::now();
  RunPhase now = RunPhase::start_up;
  std::array<double, Words<RunPhase>::table.size()> seconds{};

  bool counts() const { return std::this_thread::get_id() == thread; }

  RunPhase change_to(RunPhase phase) {
    const Clock::time_point moment = Clock::now();
    seconds.at(static_cast<std::size_t>(now)) += std::chrono::duration<double>(moment - since).count();
    since = moment;
    return std::exchange(now, phase);
  }
};

RunTimes times;

}  // namespace

InPhase::InPhase(RunPhase phase) : outer_{times.counts() ? times.change_to(phase) : phase} {}

InPhase::~InPhase() {
  if (times.counts()) times.change_to(outer_);
}

void begin_phase(RunPhase phase) {
  if (times.counts()) times.change_to(phase);
}

std::string timing_text() {
  begin_phase(times.now);
  std::ostringstream out;
  double total = 0;
  const auto line = [&](std::string_view name, double seconds) {
    out << std::left << std::setw(12) << name << std::right << std::fixed << std::setprecision(1) << std::setw(10)
        << 1e3 * seconds << '\n';
  };
  out << "\nphase          time/ms\n";
  for (const auto& [phase, name] : Words<RunPhase>::table) {
    const double seconds = times.seconds.at(static_cast<std::size_t>(phase));
    line(name, seconds);
    total += seconds;
  }
  line("total", total);
  return out.str();
}

}  // namespace linkmatrix
