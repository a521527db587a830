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

/// Throws DeviceError naming the rank and the call that failed.
inline void check_mpi(int status, int rank, const char* call) {
  if (status != MPI_SUCCESS) throw_mpi_error(status, rank, call);
}

/// "Open MPI v5.0.11": name and version of the library.
std::string mpi_library();

/// Another rank of the cell cannot go on, and says why.
class Alarmed : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// MPI from MPI_Init to MPI_Finalize, and the messages between this rank and single others, with a deadline for every
/// wait. What is given up stays with MPI: its buffers must not be used again, and MPI cannot be left in order any more.
///
/// Only the thread that makes it may call MPI, as the supervisor's and the drivers' do not: for any higher level than
/// MPI_THREAD_SINGLE, Open MPI 4.1 takes locks that cost a short message as much time again.
///
/// Every function throws TimedOut after the deadline, and DeviceError where MPI reports one; both name this rank.
class Communicator {
 public:
  Communicator();
  /// Leaves MPI: MPI_Finalize, or MPI_Abort where a wait was given up, and in any case within some seconds.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// A wait was given up: its requests are still with MPI.
  void set_stuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }
  /// With which code the process ends where MPI does not let it go in time.
  void set_exit_code(ExitCode code) { exit_code_ = code; }

  void send_bytes(const void* data, std::size_t bytes, int to, int tag) {
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &sends_.emplace_back()),
              rank_, "MPI_Isend");
  }
  void receive_bytes(void* data, std::size_t bytes, int from, int tag) {
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &receives_.emplace_back()),
              rank_, "MPI_Irecv");
  }
  /// The next message of another rank, announced before it is waited for.
  void expect(void* data, std::size_t bytes, int from, int tag) {
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &coming_), rank_,
              "MPI_Irecv");
  }
  void take(Deadline deadline) { wait({&coming_, 1}, deadline); }
  /// Sends and waits until the data may change; a short message costs as little as it can.
  void send_soon(const void* data, std::size_t bytes, int to, int tag, Deadline deadline);

  /// Waits for all receives, or for these and all sends.
  void finish_receives(Deadline deadline) { finish(receives_, deadline); }
  void finish(Deadline deadline) { finish(receives_, deadline), finish(sends_, deadline); }

  /// Whether one request is done; it is null then.
  bool test(MPI_Request& request);
  /// Waits for what all ranks begin together; `late`: what is said where they do not in time. Their cores may be
  /// shared: `yields` lets another thread in between two looks, which what is timed must not.
  void wait_for_all(MPI_Request& request, const std::string& late, Deadline deadline, bool yields = false);
  /// A look at what ends a wait: the deadline, and the other ranks' alarm.
  void look(Deadline deadline) const;
  /// Leaves a request to MPI.
  void give_up(MPI_Request& request);

  /// One object of plain data, whole.
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

  /// Two ranks wait for each other.
  void meet(int other, int tag, Deadline deadline);

  /// From now on every wait also ends, in Alarmed, when one of the others sends an Alarm with this tag.
  void listen(int alarm_tag, std::vector<int> others) { alarm_tag_ = alarm_tag, others_ = std::move(others); }
  void stop_listening() { others_.clear(); }

  /// Makes the window of one-sided transfers; all ranks together, once. Throws BadInput where MPI makes none.
  void open_window();
  MPI_Win window() const { return window_; }

  /// Gives up all that is under way; returns whether anything was.
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
