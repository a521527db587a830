#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "core/descriptor.hpp"

namespace linkmatrix {

/// By what another process asks for a file descriptor of this one: plain data, to be sent.
struct DescriptorKey {
  std::array<char, 48> socket{};  ///< abstract name of the server
  std::uint64_t number = 0;       ///< drawn at random: who does not know it gets nothing
};
static_assert(std::is_trivially_copyable_v<DescriptorKey>);

/// Hands file descriptors to other processes of the same user and node, over a socket (SCM_RIGHTS) that a thread of its
/// own answers: whoever asks need not wait until this process has nothing else to do.
class DescriptorServer {
 public:
  /// The process' own; it lives as long as somebody holds it. Throws DeviceError.
  static std::shared_ptr<DescriptorServer> get();

  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  /// Offers an open descriptor until it is withdrawn; it stays the caller's.
  DescriptorKey offer(int descriptor);
  void withdraw(const DescriptorKey& key);

 private:
  DescriptorServer();
  void serve();
  void answer(int connection);

  std::string name_;
  Descriptor listener_, done_;
  std::mutex mutex_;
  std::map<std::uint64_t, int> offered_;
  std::thread thread_;
};

/// The descriptor behind a key, as one of this process. Throws DeviceError where nobody answers, or not with one.
std::unique_ptr<Descriptor> fetch_descriptor(const DescriptorKey& key);

}  // namespace linkmatrix
