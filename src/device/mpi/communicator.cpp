#include "device/mpi/communicator.hpp"

#include <cstring>
#include <thread>

namespace linkmatrix {
namespace {

constexpr std::size_t most_text = 256;
constexpr int polls_between_looks = 256;  // at the clock; a waiting rank also lets go of its core, which it may share

}  // namespace

void Communicator::wait(std::span<MPI_Request> requests, const std::string& what, Deadline deadline) {
  for (int done = 0, polls = 1;; ++polls) {
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), rank(),
          "MPI_Testall");
    if (done != 0) return;
    if (polls % polls_between_looks != 0) continue;
    if (deadline.passed()) {
      session_.set_stuck();
      throw TimedOut("rank" + std::to_string(rank()) + ": " + what + " did not finish within --timeout");
    }
    std::this_thread::yield();
  }
}

void Communicator::barrier(Deadline deadline) {
  std::array<MPI_Request, 1> request{};
  check(MPI_Ibarrier(MPI_COMM_WORLD, request.data()), rank(), "MPI_Ibarrier");
  wait(request, "barrier", deadline);
}

std::vector<std::string> Communicator::gather_texts(const std::string& mine, const std::string& what,
                                                    Deadline deadline) {
  std::vector<char> text(most_text, 0);
  std::strncpy(text.data(), mine.c_str(), most_text - 1);
  const std::vector<char> all = gather(text, what, deadline);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < all.size(); r += most_text) texts.emplace_back(all.data() + r);
  return texts;
}

bool Communicator::any(bool here) {
  int all = here ? 1 : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD), rank(), "MPI_Allreduce");
  return all != 0;
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data());
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace linkmatrix
