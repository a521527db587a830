#include "ranks/device/staged.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::uint64_t most = pieces;

bool is_copied(const Flight& flight, std::uint64_t piece, const std::string& where) {
  const cudaError_t status = cudaEventQuery(flight.copied[piece % pieces].get());
  if (status == cudaErrorNotReady) return false;
  cuda::check(status, where, "a staged copy");
  return true;
}

void send(const Stage& stage, const void* data, std::uint64_t bytes, int tag, MPI_Request& request) {
  check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, stage.other, tag, MPI_COMM_WORLD, &request),
            stage.mpi.rank(), "MPI_Isend");
}

void listen(const Stage& stage, void* data, std::uint64_t bytes, int tag, MPI_Request& request) {
  check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, stage.other, tag, MPI_COMM_WORLD, &request),
            stage.mpi.rank(), "MPI_Irecv");
}

/// Returns the tag of messages that report a free piece to the sender.
int back(const Stage& stage) {
  return stage.tag + static_cast<int>(MessageKind::back) - static_cast<int>(MessageKind::data);
}

/// Completes old sends. Those that are still pending were cancelled.
void settle(const Stage& stage, MPI_Request& request) {
  if (request != MPI_REQUEST_NULL && !stage.mpi.test(request)) stage.mpi.give_up(request);
}

constexpr std::size_t bytes = piece_bytes * pieces;

}  // namespace

StagedSender::~StagedSender() {
  for (MPI_Request& request : flight_.sent) settle(stage_, request);
  stage_.mpi.give_up(answer_);
}

void StagedSender::step() {
  for (; copying_ < stage_.total() && copying_ - free_ < most; ++copying_) {
    cuda::check(cudaMemcpyAsync(buffer_.piece(copying_), source_ + stage_.offset(copying_), stage_.length(copying_),
                                cudaMemcpyDeviceToHost, stage_.stream),
                stage_.where, "cudaMemcpyAsync");
    cuda::check(cudaEventRecord(flight_.copied[copying_ % pieces].get(), stage_.stream), stage_.where,
                "cudaEventRecord");
  }
  for (; sending_ < copying_ && is_copied(flight_, sending_, stage_.where); ++sending_) {
    MPI_Request& request = flight_.sent[sending_ % pieces];
    if (request != MPI_REQUEST_NULL && !stage_.mpi.test(request)) break;  // still pending: cancelled
    if (stage_.same_node)
      send(stage_, &flight_.token[sending_ % pieces], 1, stage_.tag, request);
    else
      send(stage_, buffer_.piece(sending_), stage_.length(sending_), stage_.tag, request);
  }
  if (!stage_.same_node) {
    while (free_ < sending_ && stage_.mpi.test(flight_.sent[free_ % pieces])) ++free_;
    return;
  }
  while (free_ < sending_) {
    if (answer_ == MPI_REQUEST_NULL) listen(stage_, &word_, 1, back(stage_), answer_);
    if (!stage_.mpi.test(answer_)) return;
    ++free_;
  }
}

StagedReceiver::~StagedReceiver() {
  for (MPI_Request& request : flight_.sent) settle(stage_, request);
  for (MPI_Request& request : answers_) stage_.mpi.give_up(request);
}

/// Returns whether the next piece has arrived.
bool StagedReceiver::arrived() {
  const std::uint64_t ahead = stage_.same_node ? 1 : most;
  for (; listening_ < stage_.total() && listening_ - (stage_.same_node ? arrived_ : finished_) < ahead; ++listening_) {
    MPI_Request& request = answers_[listening_ % pieces];
    if (stage_.same_node)
      listen(stage_, &word_, 1, stage_.tag, request);
    else
      listen(stage_, buffer_.piece(listening_), stage_.length(listening_), stage_.tag, request);
  }
  return arrived_ < listening_ && stage_.mpi.test(answers_[arrived_ % pieces]);
}

void StagedReceiver::step() {
  while (arrived_ < stage_.total() && arrived()) {
    cuda::check(cudaMemcpyAsync(destination_ + stage_.offset(arrived_), buffer_.piece(arrived_),
                                stage_.length(arrived_), cudaMemcpyHostToDevice, stage_.stream),
                stage_.where, "cudaMemcpyAsync");
    cuda::check(cudaEventRecord(flight_.copied[arrived_ % pieces].get(), stage_.stream), stage_.where,
                "cudaEventRecord");
    ++arrived_;
  }
  for (; finished_ < arrived_ && is_copied(flight_, finished_, stage_.where); ++finished_) {
    if (!stage_.same_node) continue;
    MPI_Request& request = flight_.sent[finished_ % pieces];
    if (request != MPI_REQUEST_NULL && !stage_.mpi.test(request)) return;
    send(stage_, &flight_.token[finished_ % pieces], 1, back(stage_), request);
  }
}

StagingBuffer::StagingBuffer(std::unique_ptr<SharedSegment> memory, const std::string& where)
    : memory_{std::move(memory)} {
  cuda::check(cudaHostRegister(memory_->data(), bytes, cudaHostRegisterPortable), where, "cudaHostRegister");
  pinned_ = cuda::Registration(memory_->data());
}

StagingBuffer StagingBuffer::make(const std::string& where) {
  return {std::make_unique<SharedSegment>(bytes, where), where};
}

StagingBuffer StagingBuffer::open(const std::string& name, const std::string& where) {
  return {std::make_unique<SharedSegment>(name, bytes, where), where};
}

}  // namespace linkmatrix::ranks
