#include "ranks/device/device_copies.hpp"

#include <algorithm>
#include <thread>

#include "core/units.hpp"
#include "ranks/mpi_transfers.hpp"

namespace linkmatrix::ranks {
namespace {

using namespace cuda;

constexpr double latest_opening = 0.1;  // maximum wait in seconds; a longer wait means different clocks

/// Polls without sleeping, because a sleeping rank would open its gate late.
void wait_until(double time) {
  if (time > steady_seconds() + latest_opening) return;
  while (steady_seconds() < time) {
  }
}

std::vector<EndpointState> endpoint_states_for(int rank, int ranks, const Endpoint& device) {
  std::vector<EndpointState> endpoint_states;
  for (int r = 0; r < ranks; ++r) {
    Endpoint endpoint;
    endpoint.label = "rank" + std::to_string(r);
    endpoint_states.emplace_back(r == rank ? device : endpoint);
  }
  return endpoint_states;
}

}  // namespace

DeviceCopies::DeviceCopies(int rank, int ranks, const Endpoint& device)
    : rank_{rank}, endpoint_states_{endpoint_states_for(rank, ranks, device)}, gate_{device.label} {
  own().use();
  load_kernels();
  load_chain_kernels();
  own().lane(0);
  own().make_counters();
}

Buffer& DeviceCopies::buffer(const BufferName& name) {
  EndpointState& endpoint_state = endpoint_states_.at(static_cast<std::size_t>(name.endpoint));
  return (name.role == Role::source ? endpoint_state.source : endpoint_state.destination)[name.slot];
}

DeviceAnswer DeviceCopies::perform(const DeviceOrder& order) {
  own().use();
  const Deadline deadline = Deadline::in(order.time_limit);
  DeviceAnswer answer;
  switch (order.task) {
    case DeviceTask::close:
      for (const NamedBuffer& named : order.buffers) buffer(named.name).forget();
      break;
    case DeviceTask::reserve:
      reserve(order, answer);
      break;
    case DeviceTask::open:
      open(order, answer);
      break;
    case DeviceTask::fill:
      fill(order, deadline);
      break;
    case DeviceTask::transfer:
      transfer(order, deadline);
      break;
    case DeviceTask::compare:
      compare(order, deadline, answer);
      break;
    case DeviceTask::arm:
      arm(order, deadline);
      break;
    case DeviceTask::run:
      run(order, deadline, answer);
      break;
  }
  return answer;
}

void DeviceCopies::reserve(const DeviceOrder& order, DeviceAnswer& answer) {
  for (const NamedBuffer& named : order.buffers) buffer(named.name).forget();
  for (const NamedBuffer& named : order.buffers) {
    check_free_memory(named.bytes);
    SharedMemory memory = SharedMemory::make(named.bytes, order.kind, own().endpoint.index, own().where());
    touch_on_device(memory.data(), named.bytes, own().where());
    answer.buffers.push_back({named.name, named.bytes, memory.share()});
    buffer(named.name).take(std::move(memory));
  }
}

/// Throws BadInput with a remedy if the device has less free memory. Called before each allocation.
void DeviceCopies::check_free_memory(std::uint64_t bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), own().where(), "cudaMemGetInfo");
  if (bytes > free)
    throw BadInput("--size needs a buffer of " + format_size(bytes) + " on " + own().where() + ", but only " +
                   std::to_string(free / MiB) + " MiB are free: use a smaller --size");
}

/// Reports a buffer that cannot be mapped, and maps the others.
void DeviceCopies::open(const DeviceOrder& order, DeviceAnswer& answer) {
  for (const NamedBuffer& named : order.buffers) {
    buffer(named.name).forget();
    try {
      buffer(named.name).take(SharedMemory::open(named.handle, own().endpoint.index, own().where()));
    } catch (const DeviceError& e) {
      put(answer.unopened.emplace_back(UnopenedBuffer{named.name}).why, e.what());
    }
  }
}

std::vector<Copy> DeviceCopies::own_copies(const DeviceOrder& order, std::vector<std::size_t>& numbers) const {
  std::vector<Copy> mine;
  numbers.clear();
  for (const NumberedCopy& one : order.copies)
    if (one.copy.initiator() == rank_) {
      mine.push_back(one.copy);
      numbers.push_back(one.number);
    }
  return mine;
}

void DeviceCopies::fill(const DeviceOrder& order, Deadline deadline) {
  for (const auto& [number, copy] : order.copies) {
    if (copy.source == rank_) work_.fill(copy, order.seed + number, deadline);
    if (copy.destination == rank_) work_.poison(copy, deadline);
  }
}

void DeviceCopies::transfer(const DeviceOrder& order, Deadline deadline) {
  std::vector<std::size_t> numbers;
  const std::vector<Copy> mine = own_copies(order, numbers);
  const std::vector<PlacedCopy> placed = work_.place(mine);
  for (const PlacedCopy& one : placed) {
    work_.enqueue(one, 1);
    check(cudaEventRecord(one.lane.stop.get(), one.lane.stream.get()), one.on.where(), "cudaEventRecord");
  }
  wait(placed, deadline);
}

void DeviceCopies::compare(const DeviceOrder& order, Deadline deadline, DeviceAnswer& answer) {
  for (const auto& [number, copy] : order.copies)
    if (copy.destination == rank_)
      answer.copies.push_back({number, {}, work_.compare(copy, order.seed + number, deadline)});
}

/// Prepares chains. Flags are reset on both sides. A ring is rebuilt if another process built its own ring there.
void DeviceCopies::set_up_chains(const DeviceOrder& order, Deadline deadline) {
  const auto put_down = [&](const BufferName& name, std::uint64_t offset) {
    check(cudaMemset(buffer(name).data() + offset, 0, sizeof(std::uint64_t)), own().where(), "cudaMemset");
    check(cudaDeviceSynchronize(), own().where(), "cudaDeviceSynchronize");
  };
  for (const auto& [number, copy] : order.copies) {
    const BufferName source{copy.source, Role::source, copy.source_slot};
    const BufferName destination{copy.destination, Role::destination, copy.destination_slot};
    if (copy.operation == Operation::flag && copy.source == rank_) put_down(source, copy.offset);
    if (copy.operation == Operation::flag && copy.destination == rank_) {
      put_down(destination, copy.offset);
      own().answer_lane();  // created now, because creation would block behind a closed gate
    }
    if (copy.operation != Operation::chase || copy.initiator() != rank_) continue;
    buffer(source).ring = {};
    work_.set_up_chain(copy, deadline);
  }
}

void DeviceCopies::arm(const DeviceOrder& order, Deadline deadline) {
  set_up_chains(order, deadline);
  copies_ = own_copies(order, numbers_);
  placed_ = work_.place(copies_);
  gate_.close();
  try {
    enqueue_all(order);
  } catch (...) {
    gate_.open();
    throw;
  }
  armed_ = true;
  const auto late = Clock::now() + arming_time;
  while (!gate_.all_armed() && Clock::now() < late && !deadline.passed()) std::this_thread::yield();
  held_ = gate_.all_armed();
}

void DeviceCopies::enqueue_all(const DeviceOrder& order) {
  enqueue_seconds_.assign(placed_.size(), 0);
  for (std::size_t k = 0; k < placed_.size(); ++k) {
    PlacedCopy& placed = placed_[k];
    const auto& [copy, on, lane, slot] = placed;
    placed.slot = gate_.hold(lane.stream.get());
    check(cudaEventRecord(lane.start.get(), lane.stream.get()), on.where(), "cudaEventRecord");
    const auto begin = Clock::now();
    copy.is_chain() ? work_.enqueue_chain(placed, gate_) : work_.enqueue(placed, copy.repeats);
    if (!copy.is_chain()) enqueue_seconds_[k] = seconds_since(begin) / copy.repeats;
    check(cudaEventRecord(lane.stop.get(), lane.stream.get()), on.where(), "cudaEventRecord");
  }
  for (const auto& [number, copy] : order.copies)
    if (copy.operation == Operation::flag && copy.destination == rank_) work_.enqueue_answer(copy, gate_);
}

/// Opens the gate at the given time. Does nothing without waiting copies.
void DeviceCopies::run(const DeviceOrder& order, Deadline deadline, DeviceAnswer& answer) {
  if (!std::exchange(armed_, false)) return;
  wait_until(order.open_at);
  gate_.open();
  answer.opened = steady_seconds();
  wait(placed_, deadline);
  answer.timed_out = !held_ || gate_.timed_out();
  answer.uncertainty = gate_.uncertainty();
  for (std::size_t k = 0; k < placed_.size(); ++k)
    answer.copies.push_back({numbers_[k], time(placed_[k], enqueue_seconds_[k]), {}});
}

/// Returns the times of the copies in seconds after the opening of this device's gate.
CopyTime DeviceCopies::time(const PlacedCopy& placed, double enqueue_seconds) const {
  const Copy& copy = placed.copy;
  CopyTime time;
  time.span.end = placed.lane.seconds(placed.on.where());
  time.transfers = static_cast<double>(copy.repeats) * (copy.is_chain() ? accesses_per_repeat : 1);
  time.enqueue_seconds = enqueue_seconds;
  if (copy.operation != Operation::chase) return time;
  const auto [seconds, loads] = work_.chased(placed);
  time.span.end = seconds;
  time.transfers = loads;
  return time;
}

/// Waits for the end of every copy with a deadline, because a device may hang.
void DeviceCopies::wait(std::span<const PlacedCopy> placed, Deadline deadline) const {
  for (const PlacedCopy& one : placed) {
    cudaError_t status = cudaEventQuery(one.lane.stop.get());
    for (; status == cudaErrorNotReady; status = cudaEventQuery(one.lane.stop.get())) {
      if (deadline.passed()) throw TimedOut(work_.pair_text(one.copy) + " did not end in time");
      std::this_thread::yield();
    }
    check(status, work_.pair_text(one.copy), "copy");
  }
}

}  // namespace linkmatrix::ranks
