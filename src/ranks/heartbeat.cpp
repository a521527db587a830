#include "ranks/heartbeat.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>

namespace linkmatrix::ranks {
namespace {

using Token = std::array<std::uint64_t, 2>;

constexpr double most_questions = 500;  // per second, from all ranks together
constexpr double longest_between = 10;  // seconds between two questions of a rank
constexpr double gone_after = 40;       // seconds without an answer

std::unique_ptr<Descriptor> socket_of(int family) {
  return std::make_unique<Descriptor>(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::unique_ptr<Descriptor> make_wake() {
  return std::make_unique<Descriptor>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

socklen_t size_of(int family) { return family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

std::uint64_t random_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

/// Returns a socket bound to any port, for IPv6 and if possible IPv4; closed if no socket is available.
std::unique_ptr<Descriptor> answering_socket(in_port_t& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    auto found = socket_of(family);
    if (!found->is_open()) continue;
    const int off = 0;
    if (family == AF_INET6) ::setsockopt(found->number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    socklen_t length = size_of(family);
    auto* const address = reinterpret_cast<sockaddr*>(&any);
    if (::bind(found->number(), address, length) != 0 || ::getsockname(found->number(), address, &length) != 0)
      continue;
    port = family == AF_INET ? reinterpret_cast<sockaddr_in&>(any).sin_port
                             : reinterpret_cast<sockaddr_in6&>(any).sin6_port;
    return found;
  }
  return nullptr;
}

/// Returns the addresses of this node, IPv4 first. The last one is the loopback address, for ranks on this node.
void put_addresses(in_port_t port, HeartbeatAddress& out) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  const auto put = [&](int family, bool loopback) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_UP) == 0) continue;
      if (((one->ifa_flags & IFF_LOOPBACK) != 0) != loopback) continue;
      if (out.count == static_cast<int>(out.one.size())) return;
      HeartbeatAddress::One next{};
      next.length = size_of(family);
      std::memcpy(&next.storage, one->ifa_addr, next.length);
      if (family == AF_INET) {
        reinterpret_cast<sockaddr_in&>(next.storage).sin_port = port;
      } else {
        auto& six = reinterpret_cast<sockaddr_in6&>(next.storage);
        if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) continue;
        six.sin6_port = port;
      }
      out.one[static_cast<std::size_t>(out.count++)] = next;
    }
  };
  put(AF_INET, true);
  put(AF_INET, false);
  put(AF_INET6, false);
}

bool is_token(int socket, const Token& token, sockaddr* from, socklen_t* length) {
  Token said{};
  return ::recvfrom(socket, said.data(), sizeof said, 0, from, length) == sizeof said && said == token;
}

/// A socket connected to one of rank 0's addresses. Connected, so that the system reports refusals.
struct Connection {
  std::unique_ptr<Descriptor> socket;
  bool answered = false;
};

std::vector<Connection> connections_to(const HeartbeatAddress& address) {
  std::vector<Connection> connections;
  for (int k = 0; k < address.count; ++k) {
    const auto& one = address.one[static_cast<std::size_t>(k)];
    Connection connection{socket_of(one.storage.ss_family)};
    const auto* const there = reinterpret_cast<const sockaddr*>(&one.storage);
    if (connection.socket->is_open() && ::connect(connection.socket->number(), there, one.length) == 0)
      connections.push_back(std::move(connection));
  }
  return connections;
}

}  // namespace

HeartbeatPace Heartbeat::pace_of(int ranks) {
  HeartbeatPace pace;
  pace.between = std::clamp(ranks / most_questions, pace.between, longest_between);
  pace.silent = static_cast<int>(gone_after / pace.between);
  pace.refused = 2;
  return pace;
}

HeartbeatAddress Heartbeat::answer() {
  HeartbeatAddress address;
  in_port_t port = 0;
  socket_ = answering_socket(port);
  wake_ = make_wake();
  if (!socket_ || !wake_->is_open()) return address;
  token_ = address.token = {random_number(), random_number()};
  put_addresses(port, address);
  const bool replies = begin([this](std::stop_token stop) { reply(std::move(stop)); });
  return replies ? address : HeartbeatAddress{};
}

void Heartbeat::watch(const HeartbeatAddress& address, HeartbeatPace pace, std::function<void()> lost) {
  wake_ = make_wake();
  if (address.count == 0 || !wake_->is_open()) return;
  lost_ = std::move(lost);
  begin([this, address, pace](std::stop_token stop) { ask(std::move(stop), address, pace); });
}

/// Returns false if the system starts no further thread. The run then has no heartbeat, as without a socket.
bool Heartbeat::begin(std::function<void(std::stop_token)> work) {
  try {
    thread_ = std::jthread(std::move(work));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Heartbeat::stop() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  if (wake_ && wake_->is_open()) (void)!::write(wake_->number(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::reply(std::stop_token stop) const {
  std::array<pollfd, 2> ends{{{socket_->number(), POLLIN, 0}, {wake_->number(), POLLIN, 0}}};
  while (!stop.stop_requested()) {
    ::poll(ends.data(), ends.size(), -1);
    if ((ends[0].revents & POLLIN) == 0) continue;
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    auto* const there = reinterpret_cast<sockaddr*>(&from);
    if (is_token(socket_->number(), token_, there, &length))
      ::sendto(socket_->number(), token_.data(), sizeof token_, 0, there, length);
  }
}

/// Returns whether to continue.
bool Heartbeat::pause(double seconds) const {
  pollfd end{wake_->number(), POLLIN, 0};
  return ::poll(&end, 1, static_cast<int>(seconds * 1000)) == 0 || (end.revents & POLLIN) == 0;
}

void Heartbeat::ask(std::stop_token stop, HeartbeatAddress address, HeartbeatPace pace) {
  std::vector<Connection> connections = connections_to(address);
  int refusals = 0;
  while (!stop.stop_requested() && !connections.empty()) {
    for (const Connection& connection : connections)
      ::send(connection.socket->number(), address.token.data(), sizeof address.token, 0);
    if (!pause(pace.between)) return;
    bool answered = false, refused = false;
    for (Connection& connection : connections) {
      errno = 0;
      while (is_token(connection.socket->number(), address.token, nullptr, nullptr))
        connection.answered = answered = true;
      // Ignore addresses that never answered: they may belong to another node.
      refused = refused || (errno == ECONNREFUSED && connection.answered);
    }
    const bool known = std::any_of(connections.begin(), connections.end(),
                                   [](const Connection& connection) { return connection.answered; });
    if (answered)
      unanswered_ = refusals = 0;
    else if (known)
      ++unanswered_, refusals += refused ? 1 : 0;
    if (answered) std::erase_if(connections, [](const Connection& connection) { return !connection.answered; });
    if (unanswered_ >= pace.silent || refusals >= pace.refused) {
      if (!stop.stop_requested()) lost_();
      return;
    }
  }
}

}  // namespace linkmatrix::ranks
