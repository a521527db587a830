#include "nbody/cuda/device_simulation.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/units.hpp"
#include "nbody/either_precision.hpp"

namespace linkmatrix {

namespace cuda {

void await_event(cudaEvent_t event, const std::string& label, Deadline deadline) {
  for (;;) {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, label, "the simulation");
    if (deadline.passed()) throw TimedOut(label + ": the step did not finish in time");
    std::this_thread::yield();
  }
}

}  // namespace cuda

namespace {

using cuda::check;

constexpr int steps_between_marks = 32;  // maximum number of queued steps, because a launch into a full queue blocks

template <class T>
class DeviceSimulation final : public Simulation {
 public:
  using Part = cuda::DevicePart<T>;

  DeviceSimulation(SimulatedDevices devices, std::unique_ptr<cuda::PositionExchange<T>> exchange)
      : devices_{std::move(devices)}, exchange_{std::move(exchange)} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override {
    wanted_ = wanted;
    split_ = Split(wanted.bodies, wanted.devices);
    const std::size_t count =
        std::min(devices_.ordinals.size(), static_cast<std::size_t>(wanted.devices - devices_.first));
    for (std::size_t i = 0; i < count; ++i) add_part(i);
    exchange_->prepare(parts_, split_);
    restart(deadline);
  }

  void restart(Deadline) override {
    now_ = 0;
    std::vector<Vector4<T>> first(split_.places());
    for (int part = 0; part < split_.parts(); ++part) put_first_positions(split_, part, first.data());
    const std::size_t bytes = first.size() * sizeof(Vector4<T>);
    for (const Part& part : parts_) {
      part.use();
      check(cudaMemcpy(part.places(0), first.data(), bytes, cudaMemcpyHostToDevice), part.label, "cudaMemcpy");
      check(cudaMemset(part.places(1), 0, bytes), part.label, "cudaMemset");  // unused slots have no mass
      check(cudaMemset(part.velocities.get(), 0, split_.stride() * sizeof(Vector4<T>)), part.label, "cudaMemset");
      check(cudaDeviceSynchronize(), part.label, "cudaDeviceSynchronize");
    }
  }

  double run(int steps, const Step& step, Deadline deadline) override {
    for (const Part& part : parts_) record(part, part.begin, part.own);
    for (int s = 0; s < steps; ++s) {
      for (Part& part : parts_) compute(part, step, deadline);
      for (Part& part : parts_)
        if (split_.parts() > 1) exchange_->send(part, 1 - now_);
      now_ = 1 - now_;
      if (s % steps_between_marks == 0) keep_pace(static_cast<std::size_t>(s / steps_between_marks), deadline);
    }
    for (Part& part : parts_) {
      part.use();
      if (split_.parts() > 1) exchange_->await(part, now_, part.own.get(), deadline);
      record(part, part.end, part.own);
    }
    double seconds = 0;
    for (const Part& part : parts_) {
      part.use();
      cuda::await_event(part.end.get(), part.label, deadline);
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, part.begin.get(), part.end.get()), part.label, "cudaEventElapsedTime");
      seconds = std::max(seconds, static_cast<double>(milliseconds) * 1e-3);
    }
    return seconds;
  }

  std::vector<int> parts() const override {
    std::vector<int> numbers;
    for (const Part& part : parts_) numbers.push_back(part.number);
    return numbers;
  }
  std::vector<Vector4<double>> positions(int part) override {
    const Part& of = at(part);
    return read(of, of.places(now_), split_.places());
  }
  std::vector<Vector4<double>> velocities(int part) override {
    const Part& of = at(part);
    return read(of, velocities_of(of), split_.count(part));
  }

 private:
  const Part& at(int number) const { return parts_[static_cast<std::size_t>(number - devices_.first)]; }
  static Vector4<T>* velocities_of(const Part& part) { return reinterpret_cast<Vector4<T>*>(part.velocities.get()); }
  static Vector4<T>* partial_of(const Part& part) { return reinterpret_cast<Vector4<T>*>(part.partial.get()); }

  void add_part(std::size_t i) {
    Part& part = parts_.emplace_back();
    part.number = devices_.first + static_cast<int>(i);
    part.ordinal = devices_.ordinals[i];
    part.label = devices_.labels[i];
    part.use();
    check(cudaDeviceGetAttribute(&part.multiprocessors, cudaDevAttrMultiProcessorCount, part.ordinal), part.label,
          "cudaDeviceGetAttribute");
    for (cuda::Stream* stream : {&part.own, &part.rest, &part.copies}) *stream = cuda::make_stream(part.label);
    for (auto* events : {&part.moved, &part.sent, &part.marks})
      for (cuda::Event& event : *events) event = cuda::make_mark(part.label);
    part.rest_done = cuda::make_mark(part.label);
    part.begin = cuda::make_event(part.label), part.end = cuda::make_event(part.label);
    part.shape = cuda::shape_for<T>(split_.stride());
    const auto splits = [&](std::uint64_t count) {
      return count == 0 ? 0 : cuda::splits_for(part.shape, split_.stride(), count, part.multiprocessors);
    };
    part.own_splits = splits(split_.stride());
    part.rest_splits = splits(split_.places() - split_.stride());
    for (cuda::DeviceMemory& buffer : part.positions) buffer = room(part, split_.places());
    part.velocities = room(part, split_.stride());
    part.partial = room(part, split_.stride() * static_cast<std::uint64_t>(part.own_splits + part.rest_splits));
  }

  cuda::DeviceMemory room(const Part& part, std::uint64_t bodies) const {
    try {
      return cuda::make_device_memory(bodies * sizeof(Vector4<T>), part.label);
    } catch (const cuda::CudaError& e) {
      if (e.status() != cudaErrorMemoryAllocation) throw;
      throw BadInput("--bodies: " + part.label + " has too little free memory for " + std::to_string(wanted_.bodies) +
                     " bodies: use fewer --bodies, or end other processes on the device");
    }
  }

  static void record(const Part& part, const cuda::Event& event, const cuda::Stream& stream) {
    part.use();
    check(cudaEventRecord(event.get(), stream.get()), part.label, "cudaEventRecord");
  }
  static void wait(const Part& part, const cuda::Stream& stream, cudaEvent_t event) {
    check(cudaStreamWaitEvent(stream.get(), event, 0), part.label, "cudaStreamWaitEvent");
  }

  /// Enqueues the forces of a step. Forces by the part's own bodies start immediately; forces by other bodies wait for
  /// their
  /// positions.
  void compute(Part& part, const Step& step, Deadline deadline) {
    part.use();
    const std::uint64_t own = split_.place_of(part.number), stride = split_.stride();
    const std::uint64_t others = split_.places() - stride;
    cuda::ForceWork<T> work{part.places(now_), split_.places(), own, stride, own, stride,
                            partial_of(part),  part.own_splits};
    cuda::launch_forces(work, part.shape, part.own.get());
    if (others > 0) {
      wait(part, part.rest, part.moved_to(now_));  // the sums of the previous step were used
      exchange_->await(part, now_, part.rest.get(), deadline);
      work.from = (own + stride) % split_.places();
      work.count = others;
      work.partial += static_cast<std::uint64_t>(part.own_splits) * stride;
      work.splits = part.rest_splits;
      cuda::launch_forces(work, part.shape, part.rest.get());
      record(part, part.rest_done, part.rest);
      wait(part, part.own, part.rest_done.get());
    }
    cuda::launch_move(
        cuda::MoveWork<T>{part.places(now_) + own, part.places(1 - now_) + own, velocities_of(part), partial_of(part),
                          part.own_splits + part.rest_splits, stride, split_.count(part.number),
                          static_cast<T>(step.kick), static_cast<T>(step.drift)},
        part.own.get());
    check(cudaEventRecord(part.moved_to(1 - now_), part.own.get()), part.label, "cudaEventRecord");
  }

  /// Limits the steps in the queues to twice the steps between two marks.
  void keep_pace(std::size_t mark, Deadline deadline) {
    for (const Part& part : parts_) {
      if (mark > 0) cuda::await_event(part.marks[(mark - 1) % 2].get(), part.label, deadline);
      record(part, part.marks[mark % 2], part.own);
    }
  }

  static std::vector<Vector4<double>> read(const Part& part, const Vector4<T>* from, std::uint64_t count) {
    part.use();
    std::vector<Vector4<T>> here(count);
    check(cudaMemcpy(here.data(), from, count * sizeof(Vector4<T>), cudaMemcpyDeviceToHost), part.label, "cudaMemcpy");
    return as_double(here.data(), count);
  }

  SimulatedDevices devices_;
  std::unique_ptr<cuda::PositionExchange<T>> exchange_;
  NbodyCase wanted_;
  Split split_;
  std::vector<Part> parts_;
  int now_ = 0;  ///< index of the buffer with the current positions
};

}  // namespace

std::unique_ptr<Simulation> make_device_simulation(SimulatedDevices devices, Exchanges exchanges) {
  return std::make_unique<EitherPrecision>([=](Precision precision) -> std::unique_ptr<Simulation> {
    if (precision == Precision::f32) return std::make_unique<DeviceSimulation<float>>(devices, exchanges.of_float());
    return std::make_unique<DeviceSimulation<double>>(devices, exchanges.of_double());
  });
}

}  // namespace linkmatrix
