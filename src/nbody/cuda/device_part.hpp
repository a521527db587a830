#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/handles.hpp"
#include "nbody/cuda/forces.hpp"
#include "nbody/split.hpp"

namespace linkmatrix::cuda {

/// A part of a simulation on a device. It has two copies of all positions: the input and the output of a step.
template <class T>
struct DevicePart {
  int number = 0, ordinal = 0;
  std::string label;
  int multiprocessors = 1;
  Stream own{}, rest{}, copies{};  ///< forces of the part's bodies, moves; forces of the other bodies; sent positions
  std::array<Event, 2> moved{}, sent{};
  Event rest_done{}, begin{}, end{};
  std::array<Event, 2> marks{};
  std::array<DeviceMemory, 2> positions{};
  DeviceMemory velocities{}, partial{};
  NbodyShape shape{};
  int own_splits = 0, rest_splits = 0;

  void use() const { cuda::use(ordinal, label); }
  Vector4<T>* places(int buffer) const {
    return reinterpret_cast<Vector4<T>*>(positions[static_cast<std::size_t>(buffer)].get());
  }
  cudaEvent_t moved_to(int buffer) const { return moved[static_cast<std::size_t>(buffer)].get(); }
  cudaEvent_t sent_from(int buffer) const { return sent[static_cast<std::size_t>(buffer)].get(); }
};

/// Sends new positions to the other parts.
template <class T>
class PositionExchange {
 public:
  virtual ~PositionExchange() = default;
  virtual void prepare(std::vector<DevicePart<T>>& parts, const Split& split) = 0;
  /// Begins to send a part's own positions, once they are made.
  virtual void send(DevicePart<T>& part, int buffer) = 0;
  /// Work enqueued in the part's stream after this call has the positions of all bodies.
  virtual void await(DevicePart<T>& part, int buffer, cudaStream_t stream, Deadline deadline) = 0;
};

/// Waits until an event has happened; throws TimedOut and CudaError.
void await_event(cudaEvent_t event, const std::string& label, Deadline deadline);

}  // namespace linkmatrix::cuda
