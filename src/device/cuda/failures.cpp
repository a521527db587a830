#include "device/cuda/failures.hpp"

#include <algorithm>
#include <optional>
#include <thread>

namespace linkmatrix::cuda {
namespace {

/// Returns the permanent error of a device's context; nothing if the device accepts work.
std::optional<std::string> why_broken(EndpointState& device) {
  cudaError_t status = cudaSetDevice(device.endpoint.index);
  if (status == cudaSuccess && !device.lanes.empty()) status = cudaStreamQuery(device.lanes.front().stream.get());
  cudaGetLastError();
  if (status == cudaSuccess || status == cudaErrorNotReady) return std::nullopt;
  return error_text(status);
}

}  // namespace

void Failures::add(std::size_t copy, CellStatus status, const EndpointState* lost, const std::string& why,
                   LossKind loss) {
  if (why_.empty()) why_ = why;
  std::optional<int> endpoint;
  if (lost != nullptr) endpoint = static_cast<int>(lost - endpoint_states_.data());
  const auto known =
      std::find_if(failures_.begin(), failures_.end(), [&](const auto& failure) { return failure.copy == copy; });
  if (known == failures_.end())
    failures_.push_back({copy, status, endpoint, loss});
  else if (!known->endpoint)
    known->endpoint = endpoint;  // the copy was late, and now its device hangs
}

void Failures::refuse_lost() {
  for (std::size_t k = 0; k < copies_.size(); ++k)
    for (const int end : {copies_[k].source, copies_[k].destination}) {
      const EndpointState& endpoint_state = endpoint_states_[static_cast<std::size_t>(end)];
      if (endpoint_state.lost) add(k, CellStatus::error, &endpoint_state, *endpoint_state.lost, endpoint_state.loss);
    }
}

/// Fails all current and later copies of a device.
void Failures::lose(EndpointState& device, CellStatus status, const std::string& why) {
  if (!device.lost) device.lost = why;
  fail_all(device, status, why, LossKind::device);
}

void Failures::fail_all(const EndpointState& device, CellStatus status, const std::string& why, LossKind loss) {
  const int lost = static_cast<int>(&device - endpoint_states_.data());
  for (std::size_t k = 0; k < copies_.size(); ++k)
    if (copies_[k].source == lost || copies_[k].destination == lost) add(k, status, &device, why, loss);
}

/// Checks every device of the copies. Returns whether a device no longer works.
bool Failures::find_broken() {
  bool found = false;
  for (const Copy& copy : copies_)
    for (const int end : {copy.source, copy.destination}) {
      EndpointState& endpoint_state = endpoint_states_[static_cast<std::size_t>(end)];
      if (!endpoint_state.is_device() || endpoint_state.lost) continue;
      const auto reason = why_broken(endpoint_state);
      if (!reason) continue;
      found = endpoint_state.broken = true;
      lose(endpoint_state, CellStatus::error, endpoint_state.where() + ": " + *reason);
    }
  return found;
}

void Failures::failed(std::size_t copy, const std::string& why) {
  find_broken();
  add(copy, CellStatus::error, nullptr, work_.pair_text(copies_[copy]) + ": " + why);
}

void Failures::all_failed(const std::string& why) {
  if (find_broken()) return;
  for (std::size_t k = 0; k < copies_.size(); ++k) add(k, CellStatus::error, nullptr, why);
}

void Failures::hung(std::size_t copy, EndpointState& device) {
  device.broken = true;
  lose(device, CellStatus::timeout,
       device.where() + " hangs: " + work_.pair_text(copies_[copy]) + " did not end in time");
  add(copy, CellStatus::timeout, &device, *device.lost);
}

void Failures::late(std::size_t copy) {
  add(copy, CellStatus::timeout, nullptr, work_.pair_text(copies_[copy]) + " did not finish in time");
}

void Failures::raise() const {
  if (!failures_.empty()) throw CopiesFailed(why_, failures_);
}

void await_all(std::vector<Awaited> events, Deadline deadline, Failures& failures,
               const std::function<void()>& between_polls) {
  std::optional<Clock::time_point> given_up;
  for (;;) {
    std::vector<Awaited> open;
    for (const Awaited& awaited : events) {
      const cudaError_t status = cudaEventQuery(awaited.event);
      if (status == cudaErrorNotReady) open.push_back(awaited);
      if (status == cudaErrorNotReady || status == cudaSuccess) continue;
      cudaGetLastError();
      failures.failed(awaited.copy, error_text(status));
    }
    if (open.empty()) return;
    if (!given_up && deadline.passed()) {
      given_up = Clock::now() + settle_time;
      for (const Awaited& awaited : open) failures.late(awaited.copy);
    }
    if (given_up && Clock::now() >= *given_up) {
      for (const Awaited& awaited : open) failures.hung(awaited.copy, awaited.on);
      return;
    }
    if (!given_up) between_polls();
    std::this_thread::yield();
    std::swap(events, open);
  }
}

}  // namespace linkmatrix::cuda
