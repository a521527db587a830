#include "device/host/descriptor_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr int waiting_processes = 128;  // backlog of the socket: all processes of a node may ask together
constexpr int patience = 10;            // seconds to wait for the other process

std::uint64_t random_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

[[noreturn]] void fail(const std::string& action) {
  throw DeviceError("a file descriptor of another process was not received: " + action + ": " + std::strerror(errno));
}

/// Returns the address of an abstract socket. It needs no folder and ends with the socket.
struct Address {
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length;
};

int make_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

void limit_waits(int socket) {
  const timeval most{.tv_sec = patience, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

bool is_own_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

/// A message with one byte and one descriptor.
struct Message {
  Message() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr header{};
};

void send_descriptor(int connection, int descriptor) {
  Message message;
  cmsghdr* const extra = CMSG_FIRSTHDR(&message.header);
  extra->cmsg_level = SOL_SOCKET;
  extra->cmsg_type = SCM_RIGHTS;
  extra->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(extra), &descriptor, sizeof descriptor);
  ::sendmsg(connection, &message.header, MSG_NOSIGNAL);
}

/// Returns the received descriptor; negative: none.
int receive_descriptor(int connection) {
  Message message;
  int descriptor = -1;
  if (::recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) <= 0) return descriptor;
  const cmsghdr* const extra = CMSG_FIRSTHDR(&message.header);
  if (extra != nullptr && extra->cmsg_level == SOL_SOCKET && extra->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(extra), sizeof descriptor);
  return descriptor;
}

}  // namespace

std::shared_ptr<DescriptorServer> DescriptorServer::get() {
  static std::mutex mutex;
  static std::weak_ptr<DescriptorServer> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<DescriptorServer> server = known.lock();
  if (!server) {
    server.reset(new DescriptorServer());
    known = server;
  }
  return server;
}

DescriptorServer::DescriptorServer()
    // Processes with the same number in different containers may share a network and its names.
    : name_{"linkmatrix-" + std::to_string(::getpid()) + "-" + std::to_string(random_number() % 1'000'000'000)},
      listener_{make_socket()},
      done_{::eventfd(0, EFD_CLOEXEC)} {
  const Address address(name_);
  if (listener_.number() < 0 || done_.number() < 0) fail("no socket");
  if (::bind(listener_.number(), address.get(), address.length) != 0 ||
      ::listen(listener_.number(), waiting_processes) != 0)
    fail("the socket " + name_);
  thread_ = std::thread([this] { serve(); });
}

DescriptorServer::~DescriptorServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(done_.number(), &one, sizeof one);
  thread_.join();
}

DescriptorKey DescriptorServer::offer(int descriptor) {
  DescriptorKey key;
  name_.copy(key.socket.data(), key.socket.size() - 1);
  key.number = random_number();
  const std::lock_guard lock(mutex_);
  offered_[key.number] = descriptor;
  return key;
}

void DescriptorServer::withdraw(const DescriptorKey& key) {
  const std::lock_guard lock(mutex_);
  offered_.erase(key.number);
}

void DescriptorServer::serve() {
  for (;;) {
    std::array<pollfd, 2> events{pollfd{listener_.number(), POLLIN, 0}, pollfd{done_.number(), POLLIN, 0}};
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) return;
    if (events[1].revents != 0) return;
    if (events[0].revents == 0) continue;
    const Descriptor connection(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.number() >= 0) answer(connection.number());
  }
}

void DescriptorServer::answer(int connection) {
  limit_waits(connection);
  std::uint64_t number = 0;
  if (!is_own_user(connection) || ::recv(connection, &number, sizeof number, 0) != sizeof number) return;
  const std::lock_guard lock(mutex_);  // the owner closes withdrawn descriptors
  const auto found = offered_.find(number);
  if (found != offered_.end()) send_descriptor(connection, found->second);
}

std::unique_ptr<Descriptor> fetch_descriptor(const DescriptorKey& key) {
  const Descriptor connection(make_socket());
  const Address address(key.socket.data());
  if (connection.number() < 0) fail("no socket");
  limit_waits(connection.number());
  if (::connect(connection.number(), address.get(), address.length) != 0 ||
      ::send(connection.number(), &key.number, sizeof key.number, MSG_NOSIGNAL) != sizeof key.number)
    fail("the process does not answer (it may be on another node, or in a container with its own network)");
  const int descriptor = receive_descriptor(connection.number());
  if (descriptor < 0)
    throw DeviceError("a file descriptor of another process was not received: that process has no such buffer");
  return std::make_unique<Descriptor>(descriptor);
}

}  // namespace linkmatrix
