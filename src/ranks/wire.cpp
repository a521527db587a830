#include "ranks/wire.hpp"

#include <algorithm>
#include <optional>
#include <thread>

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t eager_bytes = 256;  // that every MPI takes off a sender's hands at once
constexpr int polls_between_looks = 256;  // at the clock
constexpr double patience = 200e-6;       // seconds; then a waiting rank lets go of its core, which it may share

}  // namespace

void Wire::finish(std::vector<MPI_Request>& requests, Deadline deadline) {
  if (!requests.empty()) wait(requests, deadline);
  requests.clear();
}

/// By MPI_Testall, which costs less than MPI_Test, also of one request.
void Wire::wait(std::span<MPI_Request> requests, Deadline deadline) {
  if (statuses_.size() < requests.size()) statuses_.resize(requests.size());
  std::optional<Clock::time_point> start;  // a clock's price is felt in the shortest messages
  for (int done = 0, polls = 1;; ++polls) {
    const int status = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses_.data());
    if (status != MPI_SUCCESS) check(error_of(status, requests.size()), rank(), "waiting for a message");
    if (done != 0) return;
    if (polls % polls_between_looks != 0) continue;
    look(deadline);
    if (!start) start = Clock::now();
    if (seconds_since(*start) > patience) std::this_thread::yield();
  }
}

/// What MPI_Testall means by "an error is in a status".
int Wire::error_of(int status, std::size_t requests) const {
  const auto known = std::span(statuses_).first(requests);
  const auto failed = std::find_if(known.begin(), known.end(), [](const MPI_Status& one) {
    return one.MPI_ERROR != MPI_SUCCESS && one.MPI_ERROR != MPI_ERR_PENDING;
  });
  return status == MPI_ERR_IN_STATUS && failed != known.end() ? failed->MPI_ERROR : status;
}

void Wire::send_soon(const void* data, std::size_t bytes, int to, int tag, Deadline deadline) {
  if (bytes > eager_bytes) {
    send_bytes(data, bytes, to, tag);
    finish(sends_, deadline);
    return;
  }
  check(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD), rank(), "MPI_Send");
}

void Wire::open_window() {
  if (window_ != MPI_WIN_NULL) return;
  // Open MPI 4.1 has none for TCP
  if (MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window_) != MPI_SUCCESS) {
    window_ = MPI_WIN_NULL;
    throw BadInput(
        "this MPI makes no window for one-sided transfers over the network it has chosen: leave the test cases"
        " rank_to_rank_put_… out, or choose another network");
  }
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
}

bool Wire::test(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), rank(), "waiting for a message");
  return done != 0;
}

void Wire::look(Deadline deadline) const {
  if (deadline.passed()) throw TimedOut("rank" + std::to_string(rank()) + ": no answer within --pair-timeout");
  heed_alarm();
}

void Wire::give_up(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return;
  MPI_Request_free(&request);
  session_.set_stuck();
}

void Wire::heed_alarm() const {
  for (const int other : others_) {
    int called = 0;
    check(MPI_Iprobe(other, alarm_tag_, MPI_COMM_WORLD, &called, MPI_STATUS_IGNORE), rank(),
          ("looking for rank" + std::to_string(other)).c_str());
    if (called == 0) continue;
    Alarm alarm{};
    check(MPI_Recv(alarm.data(), sizeof(alarm), MPI_BYTE, other, alarm_tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE), rank(),
          "MPI_Recv");
    throw Alarmed(text_of(alarm));
  }
}

bool Wire::abandon() {
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
  if (any) session_.set_stuck();
  return any;
}

}  // namespace linkmatrix::ranks
