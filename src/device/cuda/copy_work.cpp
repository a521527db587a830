#include "device/cuda/copy_work.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include "device/cuda/chains.hpp"

namespace linkmatrix::cuda {
namespace {

std::uint64_t accesses(int repeats) { return static_cast<std::uint64_t>(repeats) * accesses_per_repeat; }

void put_down(const Station& at, std::byte* flag) {
  at.use();
  check(cudaMemset(flag, 0, sizeof(std::uint64_t)), at.where(), "cudaMemset");
  check(cudaDeviceSynchronize(), at.where(), "cudaDeviceSynchronize");
}

}  // namespace

std::string CopyWork::pair_text(const Copy& copy) const {
  return station(copy.source).where() + "->" + station(copy.destination).where();
}

bool CopyWork::with_host(const Copy& copy) const {
  return !station(copy.source).is_device() || !station(copy.destination).is_device();
}

bool CopyWork::staged(std::span<const Copy> copies) const {
  return std::any_of(copies.begin(), copies.end(), [this](const Copy& copy) {
    return !copy.peer_access || (with_host(copy) && host_memory_.pages == HostPages::pageable);
  });
}

Station& CopyWork::executor(const Copy& copy) const {
  Station& initiator = station(copy.initiator());
  if (initiator.is_device()) return initiator;
  return station(copy.source == copy.initiator() ? copy.destination : copy.source);
}

void CopyWork::enqueue(const Copy& copy, Station& on, Lane& lane, int repeats, int background, Gate& gate) const {
  if (copy.is_chain()) return enqueue_chain(copy, on, lane, repeats, gate);
  if (copy.background) repeats *= background;
  if (copy.looped && copy.engine == Engine::sm) return launch_copy(kernel_copy(copy, repeats), lane.stream.get());
  for (int i = 0; i < repeats; ++i) {
    if (copy.engine == Engine::sm)
      launch_copy(kernel_copy(copy, 1), lane.stream.get());
    else
      check(cudaMemcpyAsync(destination(copy), source(copy), copy.bytes, cudaMemcpyDefault, lane.stream.get()),
            pair_text(copy), "cudaMemcpyAsync");
  }
}

KernelCopy CopyWork::kernel_copy(const Copy& copy, int repeats) const {
  return {.kernel = copy.kernel,
          .direction = copy.direction,
          .destination = destination(copy),
          .source = source(copy),
          .bytes = copy.bytes,
          .repeats = repeats,
          .blocks = copy.blocks,
          .threads = copy.threads,
          .host_memory = with_host(copy)};
}

void CopyWork::enqueue_chain(const Copy& copy, Station& on, Lane& lane, int repeats, Gate& gate) const {
  const cudaStream_t stream = lane.stream.get();
  if (copy.operation == Operation::chase)
    on.chased = launch_chase(source(copy), accesses(repeats), on.chase_state(), stream);
  if (copy.operation == Operation::atomic) launch_atomics(source(copy), accesses(repeats), on.sink(), stream);
  if (copy.operation == Operation::flag)
    launch_flag(destination(copy), source(copy), true, accesses(repeats), gate.timed_out_flag(), Gate::timeout_ns,
                stream);
}

void CopyWork::enqueue_answer(const Copy& copy, int repeats, Gate& gate) const {
  Station& on = station(copy.destination);
  on.use();
  const cudaStream_t stream = on.answer_lane().stream.get();
  gate.hold(stream);
  launch_flag(source(copy), destination(copy), false, accesses(repeats), gate.timed_out_flag(), Gate::timeout_ns,
              stream);
}

CopyTime CopyWork::time(const Copy& copy, const Station& on, const Lane& lane, int repeats, int background) const {
  CopyTime time;
  time.whole_seconds = lane.seconds(on.where());
  const int pieces = copy.is_chain() ? accesses_per_repeat : copy.background ? background : 1;
  time.seconds = time.whole_seconds / repeats / pieces;
  if (copy.operation != Operation::chase) return time;
  ChaseState state{};
  check(cudaMemcpy(&state, on.chase_state(), sizeof state, cudaMemcpyDeviceToHost), on.where(), "cudaMemcpy");
  time.seconds = static_cast<double>(state.nanoseconds) * 1e-9 / static_cast<double>(on.chased);
  return time;
}

void CopyWork::build_ring(const Copy& copy) const {
  Station& writer = executor(copy);  // whose process has the pointers
  writer.use();
  launch_ring(source(copy), copy.bytes, writer.lane(0).stream.get());
  check(cudaStreamSynchronize(writer.lane(0).stream.get()), writer.where(), "cudaStreamSynchronize");
}

void CopyWork::reset_source_flag(const Copy& copy) const { put_down(station(copy.source), source(copy)); }
void CopyWork::reset_destination_flag(const Copy& copy) const {
  put_down(station(copy.destination), destination(copy));
}

void CopyWork::wait(std::span<const Copy> copies, Deadline deadline) const {
  for_each_lane(copies, [&](std::size_t k, Station&, Lane& lane) {
    cudaError_t status = cudaEventQuery(lane.stop.get());
    for (; status == cudaErrorNotReady; status = cudaEventQuery(lane.stop.get())) {
      if (deadline.passed()) throw TimedOut(pair_text(copies[k]) + " did not finish within --timeout");
      std::this_thread::yield();
    }
    check(status, pair_text(copies[k]), "copy");
  });
}

void CopyWork::fill(const Copy& copy, std::uint64_t seed) const {
  Station& from = station(copy.source);
  if (!from.is_device()) return fill_on_host(source(copy), copy.bytes, seed);
  from.use();
  launch_fill(source(copy), copy.bytes, seed, from.lane(0).stream.get());
  check(cudaStreamSynchronize(from.lane(0).stream.get()), from.where(), "filling");
}

void CopyWork::spoil(const Copy& copy) const {
  Station& to = station(copy.destination);
  if (!to.is_device()) return spoil_on_host(destination(copy), copy.bytes);
  to.use();
  const cudaStream_t stream = to.lane(0).stream.get();
  check(cudaMemsetAsync(destination(copy), spoiled_byte, copy.bytes, stream), to.where(), "cudaMemsetAsync");
  check(cudaStreamSynchronize(stream), to.where(), "spoiling");
}

PatternCheck CopyWork::compare(const Copy& copy, std::uint64_t seed) const {
  Station& to = station(copy.destination);
  if (!to.is_device()) return check_on_host(destination(copy), copy.bytes, seed);
  to.use();
  const cudaStream_t stream = to.lane(0).stream.get();
  CheckCounters found{0, std::numeric_limits<unsigned long long>::max()};
  const auto move = [&](void* there, const void* from) {
    check(cudaMemcpyAsync(there, from, sizeof found, cudaMemcpyDefault, stream), to.where(), "cudaMemcpyAsync");
  };
  move(to.check_counters(), &found);
  launch_check(destination(copy), copy.bytes, seed, to.check_counters(), stream);
  move(&found, to.check_counters());
  check(cudaStreamSynchronize(stream), to.where(), "verification");
  return {found.wrong_bytes, found.first_wrong};
}

}  // namespace linkmatrix::cuda
