#include "ranks/mpi_transfers.hpp"

#include <array>
#include <utility>

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t answer_bytes = 4;  // as in osu_bw

}  // namespace

StepTimes MpiTransfers::transfer(const Exchange& x, std::byte* source, std::byte* destination) {
  if (x.order.one_sided) return put(x, source);
  if (x.order.metric == Metric::latency) return ping_pong(x, source, destination);
  const bool both = x.order.metric == Metric::bidirectional;
  double receiving = 0;
  StepTimes times;
  const double start = steady_seconds();
  for (int i = 0; i < x.step.repeats; ++i)
    if (both)
      receiving += bidirectional(x, source, destination);
    else
      send_window(x, source, destination);
  if (both || x.first)
    times.whole = {start, steady_seconds()};  // one direction ends when its sender has the last acknowledgement
  if (both) times.received = {start, start + receiving};
  return times;
}

void MpiTransfers::send_window(const Exchange& x, std::byte* source, std::byte* destination) {
  std::array<std::byte, answer_bytes> answer{};
  for (int m = 0; m < x.step.messages; ++m) {
    if (x.first)
      mpi_.send_bytes(source, x.order.bytes, x.other, x.tag);
    else
      mpi_.receive_bytes(destination, x.order.bytes, x.other, x.tag);
  }
  mpi_.finish(x.deadline);
  if (x.first)
    mpi_.receive_bytes(answer.data(), answer.size(), x.other, x.tag);
  else
    mpi_.send_bytes(answer.data(), answer.size(), x.other, x.tag);
  mpi_.finish(x.deadline);
}

/// Returns the seconds until this rank had received all data.
double MpiTransfers::bidirectional(const Exchange& x, std::byte* source, std::byte* destination) {
  const auto start = Clock::now();
  for (int m = 0; m < x.step.messages; ++m) mpi_.receive_bytes(destination, x.order.bytes, x.other, x.tag);
  for (int m = 0; m < x.step.messages; ++m) mpi_.send_bytes(source, x.order.bytes, x.other, x.tag);
  mpi_.finish_receives(x.deadline);
  const double receiving = seconds_since(start);
  mpi_.finish(x.deadline);
  return receiving;
}

void MpiTransfers::forget() {
  if (attached_ == nullptr) return;
  check_mpi(MPI_Win_detach(mpi_.window(), std::exchange(attached_, nullptr)), mpi_.rank(), "MPI_Win_detach");
}

void MpiTransfers::connect(const Exchange& x, std::byte* destination, std::uint64_t bytes) {
  if (attached_ != destination) {
    forget();
    check_mpi(MPI_Win_attach(mpi_.window(), destination, static_cast<MPI_Aint>(bytes)), mpi_.rank(), "MPI_Win_attach");
    attached_ = destination;
  }
  MPI_Aint here = 0;
  MPI_Get_address(destination, &here);
  mpi_.send_bytes(&here, sizeof(here), x.other, x.tag);
  mpi_.receive_bytes(&there_, sizeof(there_), x.other, x.tag);
  mpi_.finish(x.deadline);
}

/// Makes a window of puts and a flush, as osu_put_bw and osu_put_latency.
StepTimes MpiTransfers::put(const Exchange& x, const std::byte* source) {
  StepTimes times;
  if (x.first || x.order.metric == Metric::bidirectional) {
    const int bytes = static_cast<int>(x.order.bytes);
    const auto where = static_cast<MPI_Aint>(x.order.offset) + there_;
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, x.other, 0, mpi_.window()), mpi_.rank(), "MPI_Win_lock");
    const double start = steady_seconds();
    for (int i = 0; i < x.step.repeats; ++i) {
      for (int m = 0; m < x.step.messages; ++m)
        check_mpi(MPI_Put(source, bytes, MPI_BYTE, x.other, where, bytes, MPI_BYTE, mpi_.window()), mpi_.rank(),
                  "MPI_Put");
      check_mpi(MPI_Win_flush(x.other, mpi_.window()), mpi_.rank(), "MPI_Win_flush");
    }
    times.whole = times.sent = {start, steady_seconds()};
    check_mpi(MPI_Win_unlock(x.other, mpi_.window()), mpi_.rank(), "MPI_Win_unlock");
  }
  return times;
}

/// Exchanges messages in turn. Posts each receive early, so that no sender waits for it.
StepTimes MpiTransfers::ping_pong(const Exchange& x, std::byte* source, std::byte* destination) {
  StepTimes times;
  times.whole.start = steady_seconds();
  for (int i = 0; i < x.step.repeats; ++i) {
    if (x.first) mpi_.send_soon(source, x.order.bytes, x.other, x.tag, x.deadline);
    mpi_.expect(destination, x.order.bytes, x.other, x.tag);
    mpi_.take(x.deadline);
    if (!x.first) mpi_.send_soon(source, x.order.bytes, x.other, x.tag, x.deadline);
  }
  times.whole.end = steady_seconds();
  return times;
}

}  // namespace linkmatrix::ranks
