#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/mpi/session.hpp"

namespace linkmatrix {

/// All ranks, and what they say to each other: every wait looks at a deadline and says what it waited for.
class Communicator {
 public:
  int rank() const { return session_.rank(); }
  int size() const { return session_.size(); }

  /// Waits for all requests; a rank that is stuck ends in TimedOut and not in silence.
  void wait(std::span<MPI_Request> requests, const std::string& what, Deadline deadline);
  void barrier(Deadline deadline);

  /// MPI_Allreduce in place.
  template <class T>
  void reduce(std::vector<T>& values, MPI_Datatype type, MPI_Op operation, const std::string& what, Deadline deadline) {
    std::array<MPI_Request, 1> request{};
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, operation, MPI_COMM_WORLD,
                         request.data()),
          rank(), "MPI_Iallreduce");
    wait(request, what, deadline);
  }

  /// Each rank's `count` objects, by rank; plain data only.
  template <class T>
  std::vector<T> gather(const std::vector<T>& mine, const std::string& what, Deadline deadline) {
    std::vector<T> all(mine.size() * static_cast<std::size_t>(size()));
    const int bytes = static_cast<int>(mine.size() * sizeof(T));
    std::array<MPI_Request, 1> request{};
    check(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD, request.data()),
          rank(), "MPI_Iallgather");
    wait(request, what, deadline);
    return all;
  }

  /// Each rank's text (cut at 255 bytes), by rank.
  std::vector<std::string> gather_texts(const std::string& mine, const std::string& what, Deadline deadline);

  /// True if any rank says true.
  bool any(bool here);

 private:
  Session session_;
};

/// "Open MPI v5.0.11": name and version of the library.
std::string mpi_library();

}  // namespace linkmatrix
