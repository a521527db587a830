#pragma once

#include <mpi.h>

#include <array>
#include <string>

#include "core/error.hpp"

namespace linkmatrix {

/// Throws DeviceError naming the rank and the call that failed.
inline void check(int status, int rank, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError("rank" + std::to_string(rank) + ": " + call + " failed: " + text.data());
}

/// Only the thread that makes it may call MPI, as the watchdog's and the drivers' do not: for any higher level than
/// MPI_THREAD_SINGLE, Open MPI 4.1 takes locks that cost a short message as much time again.
///
/// MPI_Init … MPI_Finalize, or MPI_Abort where a wait ended without its answer: MPI_Finalize could wait for ever.
class Session {
 public:
  Session() {
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
      throw DeviceError("MPI_Init failed: start the ranks with the mpirun of the MPI this was built with");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Session() {
    if (stuck_)
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::timed_out));
    else
      MPI_Finalize();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// A wait was given up: its requests are still with MPI.
  void set_stuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }

 private:
  int rank_ = 0, size_ = 1;
  bool stuck_ = false;
};

}  // namespace linkmatrix
