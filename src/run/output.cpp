#include "run/output.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

namespace linkmatrix {
namespace {

/// Bytes per write: poll(2) guarantees no more room in a pipe.
constexpr std::size_t at_once = PIPE_BUF;

/// Returns the milliseconds for poll(2); -1: no limit.
int milliseconds_until(Clock::time_point until) {
  if (until == Clock::time_point::max()) return -1;
  const double left = std::chrono::duration<double>(until - Clock::now()).count() * 1000;
  return static_cast<int>(std::clamp(left, 0.0, 1.0 * INT_MAX));
}

/// Returns " '/folder/file'" if the descriptor is a file, as in jobs; else "".
std::string file_of(int descriptor) {
  struct stat what {};
  std::error_code unknown;
  if (::fstat(descriptor, &what) != 0 || !S_ISREG(what.st_mode)) return "";
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unknown);
  return path.empty() ? "" : " '" + path.string() + "'";
}

/// Returns an iovec for writev(2), which does not modify the data.
iovec piece(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

void print_error(std::string_view program, std::string_view sentence) {
  const std::array pieces{piece(program), piece(": "), piece(sentence), piece("\n")};
  while (::writev(STDERR_FILENO, pieces.data(), static_cast<int>(pieces.size())) < 0 && errno == EINTR) {
  }
}

int write_until(int descriptor, std::string_view text, Clock::time_point until) {
  while (!text.empty()) {
    pollfd room{descriptor, POLLOUT, 0};
    const int ready = ::poll(&room, 1, milliseconds_until(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return ETIMEDOUT;
    const ssize_t written = ::write(descriptor, text.data(), std::min(text.size(), at_once));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::optional<std::string> Output::failure() const {
  const int error = error_;
  if (error == 0) return std::nullopt;
  return "standard output" + file_of(descriptor_) + " cannot be written (" + std::strerror(error) + ")";
}

bool Output::is_disk_full() const {
  const int error = error_;
  return (error == ENOSPC || error == EDQUOT) && !file_of(descriptor_).empty();
}

void Output::keep(int error) {
  int none = 0;
  if (error != 0) error_.compare_exchange_strong(none, error);
}

}  // namespace linkmatrix
