#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/handles.hpp"
#include "nbody/cuda/forces.hpp"
#include "nbody/split.hpp"

namespace linkmatrix::cuda {

/// A part of a simulation on a device. It has two buffers with all positions: input and output of a step.
template <class T>
struct DevicePart {
  int number = 0, ordinal = 0;
  std::string label;
  int multiprocessors = 1;
  Stream own{};                             ///< forces by the part's own bodies, and moves
  Stream rest{};                            ///< forces by the other bodies
  Stream copies{};                          ///< sends of new positions
  std::array<Event, 2> moved{}, sent{};     ///< by buffer: the part's bodies were moved; their positions were sent
  Event rest_done{}, begin{}, end{};        ///< end of the forces by other bodies; start and end of a run
  std::array<Event, 2> marks{};             ///< limit the number of queued steps
  std::array<DeviceMemory, 2> positions{};  ///< buffers
  DeviceMemory velocities{}, partial{};     ///< partial: ForceWork::partial
  NbodyShape shape{};
  int own_splits = 0, rest_splits = 0;  ///< ForceWork::splits of both streams

  void use() const { cuda::use(ordinal, label); }
  Vector4<T>* places(int buffer) const {
    return reinterpret_cast<Vector4<T>*>(positions[static_cast<std::size_t>(buffer)].get());
  }
  cudaEvent_t moved_to(int buffer) const { return moved[static_cast<std::size_t>(buffer)].get(); }
  cudaEvent_t sent_from(int buffer) const { return sent[static_cast<std::size_t>(buffer)].get(); }
};

/// Sends new positions to the other parts. buffer: number of the buffer with the new positions.
template <class T>
class PositionExchange {
 public:
  virtual ~PositionExchange() = default;
  virtual void prepare(std::vector<DevicePart<T>>& parts, const Split& split) = 0;
  /// Enqueues the send of a part's positions after its move.
  virtual void send(DevicePart<T>& part, int buffer) = 0;
  /// Makes later work in `stream` wait for the positions of all bodies. Throws TimedOut.
  virtual void await(DevicePart<T>& part, int buffer, cudaStream_t stream, Deadline deadline) = 0;
};

/// Waits for an event. Throws TimedOut and CudaError.
void await_event(cudaEvent_t event, const std::string& label, Deadline deadline);

}  // namespace linkmatrix::cuda
