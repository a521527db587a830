/// To be preloaded into the ranks of a job: rank $FAULTY_RANK has a clock or a network that is at fault.
///
/// CLOCK_RATE: seconds that its steady clock counts per second. WRONG_STEP: of each cell that this rank leads, the step
/// in which it sends wrong data, and in which its puts write nothing.

#include <dlfcn.h>
#include <mpi.h>
#include <time.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ranks/messages.hpp"

namespace {

using namespace linkmatrix::ranks;

constexpr std::size_t least_data = 4096;  // bytes; shorter messages are the program's own

double rate = 1;  // nothing is changed before the constructor has run
int wrong_step = -1;

[[gnu::constructor]] void read_settings() {
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  const char* const faulty = variable("FAULTY_RANK");
  const char* const own = variable("OMPI_COMM_WORLD_RANK") ? variable("OMPI_COMM_WORLD_RANK") : variable("PMI_RANK");
  if (faulty == nullptr || own == nullptr || std::atoi(faulty) != std::atoi(own)) return;
  if (const char* const text = variable("CLOCK_RATE")) rate = std::atof(text);
  if (const char* const text = variable("WRONG_STEP")) wrong_step = std::atoi(text);
}

/// The current step of the cell that this rank leads. The leader announces each step to the other rank.
struct Steps {
  int cell_tag = 0, number = 0;

  void see(int tag, std::size_t bytes) {
    if (bytes != sizeof(Step) || tag < tag_of(0, MessageKind::data)) return;
    if (tag % 8 != tag_of(0, MessageKind::control) % 8) return;
    number = tag == cell_tag ? number + 1 : 1;
    cell_tag = tag;
  }
  bool is_wrong() const { return number == wrong_step; }
} steps;

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const std::int64_t begin = [] {
    timespec now{};
    real(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }();
  const int code = real(clock, time);
  if (code != 0 || clock != CLOCK_MONOTONIC || rate == 1) return code;
  const std::int64_t now = time->tv_sec * 1'000'000'000 + time->tv_nsec;
  const std::int64_t counted = begin + std::llround(rate * static_cast<double>(now - begin));
  *time = {counted / 1'000'000'000, counted % 1'000'000'000};
  return code;
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm all, MPI_Request* request) {
  static std::vector<std::vector<char>> sent;  // until MPI has sent it
  const auto bytes = static_cast<std::size_t>(count);
  steps.see(tag, bytes);
  if (steps.is_wrong() && bytes >= least_data) {
    const char* const right = static_cast<const char*>(data);
    data = sent.emplace_back(right, right + bytes).data();
    sent.back()[bytes / 2] ^= 1;
  }
  return PMPI_Isend(data, count, type, to, tag, all, request);
}

int MPI_Put(const void* data, int count, MPI_Datatype type, int to, MPI_Aint where, int there, MPI_Datatype their_type,
            MPI_Win window) {
  if (steps.is_wrong()) return MPI_SUCCESS;
  return PMPI_Put(data, count, type, to, where, there, their_type, window);
}
}
