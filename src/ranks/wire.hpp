#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "core/clock.hpp"
#include "device/mpi/session.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Another rank of the match cannot go on, and says why.
class Alarmed : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// MPI between this rank and single others, with a deadline for every wait. What is given up stays with MPI: its
/// buffers must not be used again.
///
/// Every function throws TimedOut after the deadline, and DeviceError where MPI reports one; both name the other rank.
class Wire {
 public:
  explicit Wire(Session& session) : session_{session} {}
  ~Wire() {
    if (window_ != MPI_WIN_NULL && !session_.is_stuck()) MPI_Win_free(&window_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int rank() const { return session_.rank(); }
  int size() const { return session_.size(); }

  void send_bytes(const void* data, std::size_t bytes, int to, int tag) {
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &sends_.emplace_back()), rank(),
          "MPI_Isend");
  }
  void receive_bytes(void* data, std::size_t bytes, int from, int tag) {
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &receives_.emplace_back()),
          rank(), "MPI_Irecv");
  }
  /// The next message of another rank, announced before it is waited for.
  void expect(void* data, std::size_t bytes, int from, int tag) {
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &coming_), rank(), "MPI_Irecv");
  }
  void take(Deadline deadline) { wait({&coming_, 1}, deadline); }
  /// Sends and waits until the data may change; a short message costs as little as it can.
  void send_soon(const void* data, std::size_t bytes, int to, int tag, Deadline deadline);

  /// Waits for all receives, or for these and all sends.
  void finish_receives(Deadline deadline) { finish(receives_, deadline); }
  void finish(Deadline deadline) { finish(receives_, deadline), finish(sends_, deadline); }

  /// Whether one request is done; it is null then.
  bool test(MPI_Request& request);
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

  /// From now on every wait also ends, in Alarmed, when one of the others sends an Alarm with this tag.
  void listen(int alarm_tag, std::vector<int> others) { alarm_tag_ = alarm_tag, others_ = std::move(others); }
  void stop_listening() { others_.clear(); }

  /// Makes the window of one-sided transfers; all ranks together, once.
  void open_window();
  MPI_Win window() const { return window_; }

  /// Gives up all that is under way; returns whether anything was.
  bool abandon();

  Session& session() { return session_; }

 private:
  void finish(std::vector<MPI_Request>& requests, Deadline deadline);
  void wait(std::span<MPI_Request> requests, Deadline deadline);
  int error_of(int status, std::size_t requests) const;
  void heed_alarm() const;

  Session& session_;
  MPI_Win window_ = MPI_WIN_NULL;
  int alarm_tag_ = 0;
  std::vector<int> others_;
  std::vector<MPI_Request> sends_, receives_;
  std::vector<MPI_Status> statuses_;
  MPI_Request coming_ = MPI_REQUEST_NULL;
};

}  // namespace linkmatrix::ranks
