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

/// Key with which another process requests a file descriptor. Trivially copyable, so that ranks can send it.
struct DescriptorKey {
  std::array<char, 48> socket{};  ///< abstract socket name of the server
  std::uint64_t number = 0;       ///< random secret, required for a request
};
static_assert(std::is_trivially_copyable_v<DescriptorKey>);

/// Passes file descriptors to processes of the same user and node over a socket (SCM_RIGHTS). Its own thread answers
/// requests.
class DescriptorServer {
 public:
  /// Returns the server of this process. It ends with the last pointer. Throws DeviceError.
  static std::shared_ptr<DescriptorServer> get();

  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  /// Offers an open descriptor until `withdraw`. The caller keeps the ownership.
  DescriptorKey offer(int descriptor);
  /// Ends an offer.
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

/// Requests the descriptor of a key from its process. Throws DeviceError without a valid answer.
std::unique_ptr<Descriptor> fetch_descriptor(const DescriptorKey& key);

}  // namespace linkmatrix
