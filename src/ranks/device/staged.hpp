#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/handles.hpp"
#include "ranks/communicator.hpp"
#include "ranks/messages.hpp"
#include "ranks/shared_segment.hpp"

namespace linkmatrix::ranks {

constexpr std::uint64_t piece_bytes = 4 * 1024 * 1024;  // large, so that the start of a copy costs little
constexpr int pieces = 6;                               // enough that neither side waits for a free piece

/// Pinned host memory of `pieces` pieces. Two processes of a node can share it.
class StagingBuffer {
 public:
  static StagingBuffer make(const std::string& where);
  /// Opens the memory of another process by name.
  static StagingBuffer open(const std::string& name, const std::string& where);

  StagingBuffer() = default;
  StagingBuffer(StagingBuffer&& other) noexcept { *this = std::move(other); }
  StagingBuffer& operator=(StagingBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(pinned_, other.pinned_);
    return *this;
  }

  std::byte* piece(std::uint64_t number) const { return memory_->data() + number % pieces * piece_bytes; }
  const std::string& name() const { return memory_->name(); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  StagingBuffer(std::unique_ptr<SharedSegment> memory, const std::string& where);

  std::unique_ptr<SharedSegment> memory_;
  cuda::Registration pinned_;  ///< destroyed before the memory
};

/// One direction of a staged transfer: `messages` messages of `bytes` bytes each, in pieces through host memory. The
/// copy from the device, the transfer between ranks and the copy to the other device overlap.
///
/// Inside a node both ranks use one StagingBuffer and tell each other which pieces are full or free. Between nodes MPI
/// sends the pieces. StagedSender::step() and StagedReceiver::step() do the possible work and never wait; call them
/// until done().
struct Stage {
  Communicator& mpi;
  const std::string& where;
  cudaStream_t stream;
  int other, tag;
  bool same_node;
  std::uint64_t bytes, messages;

  std::uint64_t pieces_of_message() const { return (bytes + piece_bytes - 1) / piece_bytes; }
  std::uint64_t total() const { return messages * pieces_of_message(); }
  std::uint64_t offset(std::uint64_t piece) const { return piece % pieces_of_message() * piece_bytes; }
  std::uint64_t length(std::uint64_t piece) const { return std::min(piece_bytes, bytes - offset(piece)); }
};

/// Events and requests of the pieces in flight.
struct Flight {
  std::array<cuda::Event, pieces> copied;
  std::array<MPI_Request, pieces> sent{};
  std::array<char, pieces> token{};

  Flight(const std::string& where) {
    for (auto& event : copied) event = cuda::make_event(where);
    sent.fill(MPI_REQUEST_NULL);
  }
};

class StagedSender {
 public:
  StagedSender(const Stage& stage, const StagingBuffer& buffer, const std::byte* source, Flight& flight)
      : stage_{stage}, buffer_{buffer}, source_{source}, flight_{flight} {}
  ~StagedSender();
  StagedSender(const StagedSender&) = delete;
  StagedSender& operator=(const StagedSender&) = delete;

  void step();
  bool done() const { return free_ == stage_.total(); }

 private:
  Stage stage_;
  const StagingBuffer& buffer_;
  const std::byte* source_;
  Flight& flight_;
  std::uint64_t copying_ = 0, sending_ = 0, free_ = 0;  ///< pieces that were copied, sent, and are free again
  MPI_Request answer_ = MPI_REQUEST_NULL;
  char word_ = 0;
};

class StagedReceiver {
 public:
  StagedReceiver(const Stage& stage, const StagingBuffer& buffer, std::byte* destination, Flight& flight)
      : stage_{stage}, buffer_{buffer}, destination_{destination}, flight_{flight} {}
  ~StagedReceiver();
  StagedReceiver(const StagedReceiver&) = delete;
  StagedReceiver& operator=(const StagedReceiver&) = delete;

  void step();
  bool done() const { return finished_ == stage_.total(); }

 private:
  bool arrived();

  Stage stage_;
  const StagingBuffer& buffer_;
  std::byte* destination_;
  Flight& flight_;
  std::uint64_t listening_ = 0, arrived_ = 0, finished_ = 0;
  std::array<MPI_Request, pieces> answers_ = none();
  char word_ = 0;

  static std::array<MPI_Request, pieces> none() {
    std::array<MPI_Request, pieces> requests{};
    requests.fill(MPI_REQUEST_NULL);
    return requests;
  }
};

}  // namespace linkmatrix::ranks
