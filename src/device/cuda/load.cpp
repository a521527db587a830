#include "device/cuda/load.hpp"

#include <algorithm>

namespace linkmatrix::cuda {
namespace {

constexpr std::size_t most_queued = 128;  // a full queue blocks the host, behind a closed gate forever
constexpr int most_ahead = 64;

}  // namespace

Load::Load(const CopyWork& work, std::size_t copy, const PlacedCopy& placed)
    : work_{work}, copy_{copy}, placed_{placed} {
  auto& marks = placed_.lane.marks;
  placed_.on.use();
  while (marks.size() < most_queued) marks.push_back(make_mark(placed_.on.where()));
}

void Load::enqueue_one() {
  work_.enqueue(placed_, 1);
  const auto at = static_cast<std::size_t>(enqueued_) % most_queued;
  check(cudaEventRecord(placed_.lane.marks[at].get(), placed_.lane.stream.get()), placed_.on.where(),
        "cudaEventRecord");
  ++enqueued_;
}

void Load::enqueue_first() {
  const int first = std::clamp(placed_.copy.repeats, 2 * ahead_, static_cast<int>(most_queued));
  while (enqueued_ < first) enqueue_one();
}

/// Returns whether all queued work is done.
bool Load::poll() {
  while (done_ < enqueued_) {
    const cudaError_t status = cudaEventQuery(placed_.lane.marks[static_cast<std::size_t>(done_) % most_queued].get());
    if (status == cudaErrorNotReady) break;
    check(status, work_.pair_text(placed_.copy), "a background copy");
    ++done_;
  }
  if (done_ < enqueued_) busy_until_ = Clock::now();
  return done_ == enqueued_;
}

/// Adds the time since the last poll as idle time. An upper limit, because the load may have been busy for a part of
/// it.
void Load::count_idle() {
  idle_seconds_ += seconds_since(busy_until_);
  busy_until_ = Clock::now();
}

void Load::enqueue_in_turn() {
  const bool first = enqueued_ == 0;
  if (!first && poll()) count_idle();
  enqueue_one();  // may copy before it returns
  if (first || poll()) begin();
}

void Load::top_up() {
  const bool idle = poll();
  while (enqueued_ - done_ < ahead_) enqueue_one();
  if (!idle) return;
  count_idle();
  ahead_ = std::min(2 * ahead_, most_ahead);
}

void count_load(const Load& load, double measured_end, CopyTime& time) {
  time.transfers = load.transfers();
  if (load.idle_seconds() > 0)
    time.span.end = std::max(time.span.start, std::min(time.span.end, measured_end) - load.idle_seconds());
}

}  // namespace linkmatrix::cuda
