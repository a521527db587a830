#include "ranks/communicator.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "ranks/messages.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t eager_bytes = 256;  // every MPI sends such messages without waiting for the receiver
constexpr int polls_between_clock_reads = 256;
constexpr double patience = 200e-6;  // seconds of polling before a rank yields its core

constexpr double leaving = 30;  // time limit of MPI_Finalize in seconds

/// Ends the process if a call into MPI does not return in time.
class LastResort {
 public:
  /// If no thread can be started, only the supervisor limits the call.
  LastResort(double seconds, ExitCode code) {
    try {
      thread_ = std::jthread([this, seconds, code](const std::stop_token& stop) { wait(stop, seconds, code); });
    } catch (const std::system_error&) {
    }
  }

 private:
  void wait(const std::stop_token& stop, double seconds, ExitCode code) {
    std::unique_lock lock(mutex_);
    over_.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
    if (!stop.stop_requested()) std::_Exit(static_cast<int>(code));
  }

  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread thread_;  ///< stopped and joined by the destructor
};

}  // namespace

void throw_mpi_error(int status, int rank, const char* call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError("rank" + std::to_string(rank) + ": " + call + " failed: " + text.data());
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data());
  return all.substr(0, all.find_first_of(",\n"));
}

Communicator::Communicator() {
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
    throw DeviceError(
        "MPI_Init failed: start the ranks with the mpirun of the MPI library that this program was built with");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Communicator::~Communicator() {
  const LastResort bound(leaving, exit_code_);
  if (stuck_) {
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::timed_out));
    return;
  }
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  MPI_Finalize();
}

void Communicator::meet(int other, int tag, Deadline deadline) {
  char here = 0, there = 0;
  send_bytes(&here, 1, other, tag);
  receive_bytes(&there, 1, other, tag);
  finish(deadline);
}

void Communicator::finish(std::vector<MPI_Request>& requests, Deadline deadline) {
  if (!requests.empty()) wait(requests, deadline);
  requests.clear();
}

/// Uses MPI_Testall, which costs less than MPI_Test, also for one request.
void Communicator::wait(std::span<MPI_Request> requests, Deadline deadline) {
  if (statuses_.size() < requests.size()) statuses_.resize(requests.size());
  std::optional<Clock::time_point> start;  // read late, because reading a clock would slow the shortest messages
  int done = 0;
  for (std::uint64_t polls = 1;; ++polls) {  // 64 bits, because an int overflows in ten seconds
    const int status = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses_.data());
    if (status != MPI_SUCCESS) check_mpi(error_of(status, requests.size()), rank_, "waiting for a message");
    if (done != 0) return;
    if (polls % polls_between_clock_reads != 0) continue;
    check_wait(deadline);
    if (!start) start = Clock::now();
    if (seconds_since(*start) > patience) std::this_thread::yield();
  }
}

/// Returns the error of a single request if MPI_Testall returns MPI_ERR_IN_STATUS.
int Communicator::error_of(int status, std::size_t requests) const {
  const auto known = std::span(statuses_).first(requests);
  const auto failed = std::find_if(known.begin(), known.end(), [](const MPI_Status& one) {
    return one.MPI_ERROR != MPI_SUCCESS && one.MPI_ERROR != MPI_ERR_PENDING;
  });
  return status == MPI_ERR_IN_STATUS && failed != known.end() ? failed->MPI_ERROR : status;
}

void Communicator::send_soon(const void* data, std::size_t bytes, int to, int tag, Deadline deadline) {
  if (bytes > eager_bytes) {
    send_bytes(data, bytes, to, tag);
    finish(sends_, deadline);
    return;
  }
  check_mpi(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD), rank_, "MPI_Send");
}

void Communicator::open_window() {
  if (window_ != MPI_WIN_NULL) return;
  // Open MPI 4.1 has no windows over TCP
  if (MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window_) != MPI_SUCCESS) {
    window_ = MPI_WIN_NULL;
    throw BadInput(
        "this MPI cannot create a window for one-sided transfers over its selected network: omit the test cases "
        "rank_to_rank_put_…, or choose another network");
  }
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
}

bool Communicator::test(MPI_Request& request) {
  int done = 0;
  check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), rank_, "waiting for a message");
  return done != 0;
}

void Communicator::wait_for_all(MPI_Request& request, const std::string& late, Deadline deadline, bool yields) {
  while (!test(request)) {
    if (deadline.passed()) {
      set_stuck();
      throw TimedOut(late);
    }
    if (yields) std::this_thread::yield();
  }
}

void Communicator::check_wait(Deadline deadline) const {
  if (deadline.passed()) throw TimedOut("rank" + std::to_string(rank_) + ": no answer within --pair-timeout");
  heed_alarm();
}

void Communicator::give_up(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return;
  MPI_Request_free(&request);
  set_stuck();
}

void Communicator::heed_alarm() const {
  for (const int other : others_) {
    int called = 0;
    check_mpi(MPI_Iprobe(other, alarm_tag_, MPI_COMM_WORLD, &called, MPI_STATUS_IGNORE), rank_,
              ("waiting for a connection to rank" + std::to_string(other)).c_str());
    if (called == 0) continue;
    Alarm alarm{};
    check_mpi(MPI_Recv(alarm.data(), sizeof(alarm), MPI_BYTE, other, alarm_tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              rank_, "MPI_Recv");
    throw Alarmed(text_of(alarm));
  }
}

bool Communicator::abandon() {
  bool any = false;
  for (auto* requests : {&receives_, &sends_}) {
    for (MPI_Request& request : *requests) {
      if (request == MPI_REQUEST_NULL) continue;
      any = true;
      if (requests == &receives_) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    requests->clear();
  }
  if (coming_ != MPI_REQUEST_NULL) {
    any = true;
    MPI_Cancel(&coming_);
    MPI_Request_free(&coming_);
  }
  if (any) set_stuck();
  return any;
}

}  // namespace linkmatrix::ranks
