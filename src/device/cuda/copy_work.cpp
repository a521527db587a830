#include "device/cuda/copy_work.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include "device/cuda/chains.hpp"
#include "device/cuda/failures.hpp"
#include "device/host/handovers.hpp"

namespace linkmatrix::cuda {
namespace {

/// Maximum wait for a flag or answer, and maximum duration of all rounds except the last. Their sum is smaller than
/// settle_time, so that a failed test is no hang.
constexpr HandoverTimes handover_times{.patience_ns = 1'000'000'000, .longest_ns = 500'000'000};

std::uint64_t accesses(const Copy& copy) { return static_cast<std::uint64_t>(copy.repeats) * accesses_per_repeat; }

/// Waits until a stream is idle. Polls, because a blocking call would not return if the device hangs.
void await(const EndpointState& at, cudaStream_t stream, const char* what, Deadline deadline) {
  std::optional<Clock::time_point> given_up;
  cudaError_t status = cudaStreamQuery(stream);
  for (; status == cudaErrorNotReady; status = cudaStreamQuery(stream)) {
    if (!given_up && deadline.passed()) given_up = Clock::now() + settle_time;
    if (given_up && Clock::now() >= *given_up) throw TimedOut(at.where() + ": " + what + " did not end in time");
    std::this_thread::yield();
  }
  check(status, at.where(), what);
}

void put_down(EndpointState& at, std::byte* flag, Deadline deadline) {
  at.use();
  const cudaStream_t stream = at.lane(0).stream.get();
  check(cudaMemsetAsync(flag, 0, sizeof(std::uint64_t), stream), at.where(), "cudaMemsetAsync");
  await(at, stream, "resetting a flag", deadline);
}

}  // namespace

std::string CopyWork::pair_text(const Copy& copy) const {
  return endpoint_state(copy.source).where() + "->" + endpoint_state(copy.destination).where();
}

bool CopyWork::with_host(const Copy& copy) const {
  return !endpoint_state(copy.source).is_device() || !endpoint_state(copy.destination).is_device();
}

bool CopyWork::staged(std::span<const Copy> copies) const {
  return std::any_of(copies.begin(), copies.end(), [this](const Copy& copy) {
    return !copy.peer_access || (with_host(copy) && host_memory_.pages == HostPages::pageable);
  });
}

EndpointState& CopyWork::executor(const Copy& copy) const {
  EndpointState& initiator = endpoint_state(copy.initiator());
  if (initiator.is_device()) return initiator;
  return endpoint_state(copy.source == copy.initiator() ? copy.destination : copy.source);
}

std::vector<PlacedCopy> CopyWork::place(std::span<const Copy> copies) const {
  std::map<EndpointState*, std::size_t> taken;
  std::vector<PlacedCopy> placed;
  for (const Copy& copy : copies) {
    EndpointState& on = executor(copy);
    on.use();
    placed.push_back({copy, on, on.lane(taken[&on]++)});
  }
  return placed;
}

void CopyWork::enqueue(const PlacedCopy& placed, int transfers) const {
  const auto& [copy, on, lane, slot] = placed;
  on.use();
  if (copy.looped && copy.engine == Engine::sm && !copy.background)
    return launch_copy(kernel_copy(copy, transfers), lane.stream.get());
  for (int i = 0; i < transfers; ++i) {
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

void CopyWork::enqueue_chain(const PlacedCopy& placed, LaunchGate& gate) const {
  const auto& [copy, on, lane, slot] = placed;
  const cudaStream_t stream = lane.stream.get();
  on.use();
  if (copy.operation == Operation::chase)
    on.chased = launch_chase(source(copy), accesses(copy), on.chase_state(), stream);
  if (copy.operation == Operation::atomic) {
    endpoint_state(copy.source).source.at(copy.source_slot).write_over();
    launch_atomics(source(copy), accesses(copy), on.sink(), stream);
  }
  if (copy.operation == Operation::flag)
    launch_flag(destination(copy), source(copy), true, accesses(copy), gate.timed_out_flag(slot),
                LaunchGate::timeout_ns, stream);
  if (copy.operation == Operation::visibility)
    (&on == &endpoint_state(copy.source) ? launch_writer : launch_checker)(handover_place(copy), on.terms,
                                                                           on.handover_end(false), stream);
}

LaunchGate::Slot CopyWork::enqueue_answer(const Copy& copy, LaunchGate& gate) const {
  EndpointState& on = answerer(copy);
  on.use();
  const cudaStream_t stream = on.answer_lane().stream.get();
  const LaunchGate::Slot slot = gate.hold(stream);
  if (copy.operation == Operation::visibility) {
    (&on == &endpoint_state(copy.source) ? launch_writer : launch_checker)(handover_place(copy), executor(copy).terms,
                                                                           on.handover_end(true), stream);
    return slot;
  }
  launch_flag(source(copy), destination(copy), false, accesses(copy), gate.timed_out_flag(slot), LaunchGate::timeout_ns,
              stream);
  return slot;
}

void CopyWork::set_up_chain(const Copy& copy, Deadline deadline) const {
  const Buffer::Ring wanted{source(copy), copy.bytes};
  if (copy.operation == Operation::chase && endpoint_state(copy.source).source.at(copy.source_slot).ring != wanted)
    build_ring(copy, deadline);
  if (copy.operation == Operation::visibility) return set_up_handovers(copy, deadline);
  if (copy.operation != Operation::flag) return;
  endpoint_state(copy.source).source.at(copy.source_slot).write_over();
  put_down(endpoint_state(copy.source), source(copy), deadline);
  put_down(answerer(copy), destination(copy), deadline);
  answerer(copy).answer_lane();  // created now, because creation would block behind a closed gate
}

void CopyWork::build_ring(const Copy& copy, Deadline deadline) const {
  EndpointState& writer = executor(copy);
  writer.use();
  const cudaStream_t stream = writer.lane(0).stream.get();
  launch_ring(source(copy), copy.bytes, stream);
  await(writer, stream, "building a ring of pointers", deadline);
  endpoint_state(copy.source).source.at(copy.source_slot).write_over();
  endpoint_state(copy.source).source.at(copy.source_slot).ring = {source(copy), copy.bytes};
}

/// Flag and data are in the buffer that one side accesses remotely; answers are in the other buffer. A host thread
/// accesses only its own memory.
HandoverPlace CopyWork::handover_place(const Copy& copy) const {
  const bool is_write = copy.direction == Direction::write;
  std::byte *const area = is_write ? destination(copy) : source(copy), *const other =
                                                                           is_write ? source(copy) : destination(copy);
  return {area, with_host(copy) ? area : other};
}

void CopyWork::set_up_handovers(const Copy& copy, Deadline deadline) const {
  executor(copy).terms = make_terms(accesses(copy), copy.write_fault, handover_times, deadline);
  endpoint_state(copy.source).source.at(copy.source_slot).write_over();
  if (with_host(copy)) return reset_handovers(handover_place(copy));
  for (const auto& [at, memory] : {std::pair{&endpoint_state(copy.source), source(copy)},
                                   std::pair{&endpoint_state(copy.destination), destination(copy)}}) {
    put_down(*at, memory + handover_flag_at, deadline);
    put_down(*at, memory + handover_answer_at, deadline);
  }
  answerer(copy).answer_lane();  // created now, because creation would block behind a closed gate
}

std::unique_ptr<HostSide> CopyWork::host_side(const Copy& copy) const {
  return std::make_unique<HostSide>(handover_place(copy), executor(copy).terms,
                                    &answerer(copy) == &endpoint_state(copy.source));
}

Visibility CopyWork::visibility(const PlacedCopy& placed, HostSide* host) const {
  const auto end_on = [](const EndpointState& at, bool answers_it) {
    HandoverEnd end{};
    at.use();
    check(cudaMemcpy(&end, at.handover_end(answers_it), sizeof end, cudaMemcpyDeviceToHost), at.where(), "cudaMemcpy");
    return end;
  };
  const HandoverEnd mine = end_on(placed.on, false);
  const HandoverEnd other = host != nullptr ? host->end() : end_on(answerer(placed.copy), true);
  return &placed.on == &endpoint_state(placed.copy.source) ? visibility_of(mine, other) : visibility_of(other, mine);
}

CopyWork::Chased CopyWork::chased(const PlacedCopy& placed) const {
  const EndpointState& on = placed.on;
  ChaseState state{};
  on.use();
  check(cudaMemcpy(&state, on.chase_state(), sizeof state, cudaMemcpyDeviceToHost), on.where(), "cudaMemcpy");
  return {static_cast<double>(state.nanoseconds) * 1e-9, static_cast<double>(on.chased)};
}

void CopyWork::fill(const Copy& copy, std::uint64_t seed, Deadline deadline) const {
  EndpointState& from = endpoint_state(copy.source);
  from.source.at(copy.source_slot).write_over();
  if (!from.is_device()) return fill_on_host(source(copy), copy.bytes, seed);
  from.use();
  launch_fill(source(copy), copy.bytes, seed, from.lane(0).stream.get());
  await(from, from.lane(0).stream.get(), "filling", deadline);
}

void CopyWork::poison(const Copy& copy, Deadline deadline) const {
  EndpointState& to = endpoint_state(copy.destination);
  if (!to.is_device()) return poison_on_host(destination(copy), copy.bytes);
  to.use();
  const cudaStream_t stream = to.lane(0).stream.get();
  check(cudaMemsetAsync(destination(copy), poison_byte, copy.bytes, stream), to.where(), "cudaMemsetAsync");
  await(to, stream, "poisoning", deadline);
}

PatternCheck CopyWork::compare(const Copy& copy, std::uint64_t seed, Deadline deadline) const {
  EndpointState& to = endpoint_state(copy.destination);
  if (!to.is_device()) return check_on_host(destination(copy), copy.bytes, seed);
  to.use();
  const cudaStream_t stream = to.lane(0).stream.get();
  CheckCounters found{0, std::numeric_limits<unsigned long long>::max()};
  const auto move = [&](void* there, const void* from) {
    check(cudaMemcpyAsync(there, from, sizeof found, cudaMemcpyDefault, stream), to.where(), "cudaMemcpyAsync");
  };
  move(to.check_counters(), &found);
  launch_check(destination(copy), copy.bytes, seed, to.check_counters(), stream);
  await(to, stream, "the comparison", deadline);
  move(&found, to.check_counters());
  await(to, stream, "the comparison", deadline);
  return {found.wrong_bytes, found.first_wrong};
}

void CopyWork::lay_pattern(const Copy& copy, Deadline deadline) const {
  EndpointState& from = endpoint_state(copy.source);
  Buffer& buffer = from.source.at(copy.source_slot);
  if (buffer.patterned) return;
  buffer.write_over();
  const std::uint64_t seed = source_seed(copy.source, copy.source_slot);
  if (from.is_device()) {
    from.use();
    launch_fill(buffer.data(), buffer.bytes(), seed, from.lane(0).stream.get());
    await(from, from.lane(0).stream.get(), "filling", deadline);
  } else {
    fill_on_host(buffer.data(), buffer.bytes(), seed);
  }
  buffer.patterned = true;
}

void CopyWork::begin_compare(const Copy& copy, const Portion& portion, CheckCounters* found) const {
  EndpointState& to = endpoint_state(copy.destination);
  *found = {0, std::numeric_limits<unsigned long long>::max()};
  if (!to.is_device()) return;
  to.use();
  const cudaStream_t stream = to.lane(0).stream.get();
  const auto move = [&](void* there, const void* from) {
    check(cudaMemcpyAsync(there, from, sizeof *found, cudaMemcpyDefault, stream), to.where(), "cudaMemcpyAsync");
  };
  move(to.check_counters(), found);
  launch_check(destination(copy), copy.bytes, source_seed(copy.source, copy.source_slot), to.check_counters(), stream,
               copy.offset + copy.shift, portion);
  move(found, to.check_counters());
}

PatternCheck CopyWork::end_compare(const Copy& copy, const Portion& portion, const CheckCounters& found,
                                   Deadline deadline) const {
  EndpointState& to = endpoint_state(copy.destination);
  if (!to.is_device())
    return check_on_host(destination(copy), copy.bytes, source_seed(copy.source, copy.source_slot),
                         copy.offset + copy.shift, portion);
  await(to, to.lane(0).stream.get(), "the comparison", deadline);
  return {found.wrong_bytes, found.first_wrong};
}

}  // namespace linkmatrix::cuda
