#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "program/program_main.hpp"

namespace linkmatrix {
namespace {

struct Ended {
  int code = -1;
  std::string first_write;  ///< to standard error, and no other
};

/// A program whose standard error keeps writes apart: a socket of datagrams.
Ended ended(const std::function<ExitCode()>& act) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()) != 0) throw std::runtime_error("no socket");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(program_main("p2p_matrix", act));
  }
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(ends[0], text.data(), text.size(), MSG_DONTWAIT))));
  ::close(ends[0]);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

ExitCode fail() { throw std::runtime_error("nobody catches it"); }

// ranks that refuse alike do so at once: "p2p_matrixp2p_matrix: …" is the sentence of neither
TEST(ProgramMain, SaysInOneWriteWhyItEnds) {
  const Ended refused = ended([]() -> ExitCode { throw BadInput("--size 'many': use a size"); });
  EXPECT_EQ(refused.first_write, "p2p_matrix: --size 'many': use a size\n");
  EXPECT_EQ(refused.code, static_cast<int>(ExitCode::bad_input));
  const Ended broken = ended([]() noexcept { return fail(); });
  EXPECT_EQ(broken.first_write, "p2p_matrix: nobody catches it\n");
  EXPECT_EQ(broken.code, static_cast<int>(ExitCode::device_error));
}

}  // namespace
}  // namespace linkmatrix
