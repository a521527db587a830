#include "ranks/device/direct_transfers.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace linkmatrix::ranks {
namespace {

using namespace cuda;

constexpr int polls_between_checks = 256;  // polls of an event between two checks of the deadline
constexpr double longest_wait = 30;        // maximum seconds that a kernel waits for the other kernel

/// Description of a rank's memory for another rank.
struct MemoryOffer {
  ShareHandle handle{};
  int generation = 0;
};

/// Returns the word behind the messages.
std::byte* word_of(const SharedMemory& memory) { return memory.data() + memory.bytes() - DirectTransfers::extra_bytes; }

std::uint64_t bytes_of(const Exchange& x) { return std::max<std::uint64_t>(x.order.bytes, 1); }

}  // namespace

void DirectTransfers::connect(const Exchange& x, const SharedMemory& destination, int generation) {
  const MemoryOffer mine{destination.share(), generation};
  MemoryOffer theirs;
  mpi_.send_bytes(&mine, sizeof mine, x.other, x.tag);
  mpi_.receive_bytes(&theirs, sizeof theirs, x.other, x.tag);
  mpi_.finish(x.deadline);
  Opened& opened = opened_[x.other];
  if (opened.memory && opened.generation == theirs.generation) return;
  opened.memory = {};
  try {
    opened.memory = SharedMemory::open(theirs.handle, endpoint_state_.endpoint.index, endpoint_state_.where());
  } catch (const DeviceError& e) {
    throw DeviceError(std::string(e.what()) +
                      "; without peer access, use --transport staged, which copies through host memory");
  }
  opened.generation = theirs.generation;
}

/// Makes the copies of a unidirectional step. The destination only waits.
StepTimes DirectTransfers::transfer(const Exchange& x, const std::byte* source, const SharedMemory& destination) {
  if (x.order.metric == Metric::latency) return ping_pong(x, source, destination);
  StepTimes times;
  if (x.first || x.order.metric == Metric::bidirectional)
    times.whole = times.sent = write(x, source, x.step.repeats * x.step.messages);
  return times;
}

/// Makes a ping-pong. Both ranks reset their words before the kernels start.
StepTimes DirectTransfers::ping_pong(const Exchange& x, const std::byte* source, const SharedMemory& destination) {
  if (!state_) state_ = make_device_memory(sizeof(PingPongState), endpoint_state_.where());
  const SharedMemory& there = opened_.at(x.other).memory;
  auto* const state = reinterpret_cast<PingPongState*>(state_.get());
  const auto clear = [&](void* memory, std::size_t bytes) {
    check(cudaMemsetAsync(memory, 0, bytes, stream()), endpoint_state_.where(), "cudaMemsetAsync");
  };
  clear(state, sizeof *state);
  clear(word_of(destination), sizeof(std::uint64_t));
  check(cudaStreamSynchronize(stream()), endpoint_state_.where(), "cudaStreamSynchronize");
  mpi_.meet(x.other, x.tag, x.deadline);
  const cuda::Messages messages{.theirs = there.data() + x.order.offset,
                                .message = source,
                                .bytes = x.order.bytes,
                                .their_word = word_of(there),
                                .my_word = word_of(destination)};
  const double patience = std::clamp(x.deadline.seconds_left(), 0.0, longest_wait);
  launch_ping_pong(messages, x.first, static_cast<std::uint64_t>(x.step.repeats), state,
                   static_cast<std::uint64_t>(patience * 1e9), stream());
  check(cudaEventRecord(endpoint_state_.lane(0).stop.get(), stream()), endpoint_state_.where(), "cudaEventRecord");
  wait(endpoint_state_.lane(0).stop, x);
  const double end = steady_seconds();
  PingPongState found{};
  check(cudaMemcpy(&found, state, sizeof found, cudaMemcpyDeviceToHost), endpoint_state_.where(), "cudaMemcpy");
  if (found.timed_out != 0) throw TimedOut(endpoint_state_.where() + ": the other device did not answer in time");
  StepTimes times;
  times.whole = {end - static_cast<double>(found.nanoseconds) * 1e-9, end};
  return times;
}

/// Returns the span of the copies, which end now.
Span DirectTransfers::write(const Exchange& x, const std::byte* source, int copies) {
  cuda::Lane& lane = endpoint_state_.lane(0);
  std::byte* const there = opened_.at(x.other).memory.data() + x.order.offset;
  check(cudaEventRecord(lane.start.get(), stream()), endpoint_state_.where(), "cudaEventRecord");
  for (int k = 0; k < copies; ++k)
    check(cudaMemcpyAsync(there, source, bytes_of(x), cudaMemcpyDefault, stream()), endpoint_state_.where(),
          "cudaMemcpyAsync");
  check(cudaEventRecord(lane.stop.get(), stream()), endpoint_state_.where(), "cudaEventRecord");
  wait(lane.stop, x);
  const double end = steady_seconds();
  return {end - lane.seconds(endpoint_state_.where()), end};
}

void DirectTransfers::wait(const Event& event, const Exchange& x) const {
  for (std::uint64_t polls = 1;; ++polls) {
    const cudaError_t status = cudaEventQuery(event.get());
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, endpoint_state_.where(), "cudaEventQuery");
    if (polls % polls_between_checks == 0) mpi_.check_wait(x.deadline);
  }
}

}  // namespace linkmatrix::ranks
