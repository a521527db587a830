#pragma once

#include <mpi.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace linkmatrix::ranks {

[[noreturn]] void throw_mpi_error(int status, int rank, const char* call);

/// Throws DeviceError with this rank and the name of the call, unless the status is MPI_SUCCESS.
inline void check_mpi(int status, int rank, const char* call) {
  if (status != MPI_SUCCESS) throw_mpi_error(status, rank, call);
}

/// Returns name and version of the MPI library: "Open MPI v5.0.11".
std::string mpi_library();

/// Thrown if another rank of the cell has failed. The text is the reason.
class Alarmed : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// MPI from MPI_Init to MPI_Finalize, and messages between two ranks with a deadline for every wait.
///
/// - Functions throw TimedOut after the deadline, and DeviceError for an error of MPI. Both texts name this rank.
/// - After a cancelled message, its buffer must not be used again, and MPI cannot be finalized.
/// - Only the thread that creates this object may call MPI (MPI_THREAD_SINGLE). With a higher thread level, locks in
/// Open
///   MPI 4.1 double the time of a short message.
class Communicator {
 public:
  Communicator();
  /// Ends MPI by MPI_Finalize; after a cancelled message, or if that takes too long, by MPI_Abort.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Records that a message was cancelled and may still be pending.
  void set_stuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }
  /// Sets the exit code for MPI_Abort.
  void set_exit_code(ExitCode code) { exit_code_ = code; }

  void send_bytes(const void* data, std::size_t bytes, int to, int tag) {
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &sends_.emplace_back()),
              rank_, "MPI_Isend");
  }
  void receive_bytes(void* data, std::size_t bytes, int from, int tag) {
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &receives_.emplace_back()),
              rank_, "MPI_Irecv");
  }
  /// Posts the receive of a message before take() waits for it.
  void expect(void* data, std::size_t bytes, int from, int tag) {
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &coming_), rank_,
              "MPI_Irecv");
  }
  void take(Deadline deadline) { wait({&coming_, 1}, deadline); }
  /// Sends a message, and waits until the buffer may be reused. Optimized for short messages.
  void send_soon(const void* data, std::size_t bytes, int to, int tag, Deadline deadline);

  /// Waits for all receives; finish() also waits for all sends.
  void finish_receives(Deadline deadline) { finish(receives_, deadline); }
  void finish(Deadline deadline) { finish(receives_, deadline), finish(sends_, deadline); }

  /// Returns whether a request is complete; it is then MPI_REQUEST_NULL.
  bool test(MPI_Request& request);
  /// Waits for a collective operation. late: text of TimedOut. yields: whether to yield the core between polls, because
  /// ranks may share cores; false for timed operations.
  void wait_for_all(MPI_Request& request, const std::string& late, Deadline deadline, bool yields = false);
  /// Throws TimedOut after the deadline, or Alarmed if another rank has sent an alarm. Called repeatedly in waits.
  void check_wait(Deadline deadline) const;
  /// Cancels a request.
  void give_up(MPI_Request& request);

  /// Sends one trivially copyable object.
  template <class T>
  void send(const T& object, int to, int tag, Deadline deadline) {
    send_bytes(&object, sizeof(T), to, tag);
    finish(deadline);
  }
  template <class T>
  T receive(int from, int tag, Deadline deadline) {
    T object{};
    receive_bytes(&object, sizeof(T), from, tag);
    finish(deadline);
    return object;
  }

  /// Exchanges an empty message with another rank, to synchronize with it.
  void meet(int other, int tag, Deadline deadline);

  /// From now on, every wait throws Alarmed if one of `others` sends an Alarm with this tag.
  void listen(int alarm_tag, std::vector<int> others) { alarm_tag_ = alarm_tag, others_ = std::move(others); }
  void stop_listening() { others_.clear(); }

  /// Creates the window of one-sided transfers. Collective; called once. Throws BadInput if MPI cannot create it.
  void open_window();
  MPI_Win window() const { return window_; }

  /// Cancels all pending messages. Returns whether any was pending.
  bool abandon();

 private:
  void finish(std::vector<MPI_Request>& requests, Deadline deadline);
  void wait(std::span<MPI_Request> requests, Deadline deadline);
  int error_of(int status, std::size_t requests) const;
  void heed_alarm() const;

  int rank_ = 0, size_ = 1;
  bool stuck_ = false;
  ExitCode exit_code_ = ExitCode::device_error;
  MPI_Win window_ = MPI_WIN_NULL;
  int alarm_tag_ = 0;
  std::vector<int> others_;
  std::vector<MPI_Request> sends_, receives_;
  std::vector<MPI_Status> statuses_;
  MPI_Request coming_ = MPI_REQUEST_NULL;
};

}  // namespace linkmatrix::ranks
