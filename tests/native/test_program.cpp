#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/program_main.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {
namespace {

struct Ended {
  int code = -1;
  std::string first_write;  ///< to standard error, and no other
};

/// Runs a program whose standard error is a datagram socket, which separates writes.
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

ExitCode fail() { throw std::runtime_error("not caught"); }

// ranks that refuse at the same time must not mix their sentences ("p2p_matrixp2p_matrix: …")
TEST(ProgramMain, SaysInOneWriteWhyItEnds) {
  const Ended refused = ended([]() -> ExitCode { throw BadInput("--size 'many': use a size"); });
  EXPECT_EQ(refused.first_write, "p2p_matrix: --size 'many': use a size\n");
  EXPECT_EQ(refused.code, static_cast<int>(ExitCode::bad_input));
  const Ended broken = ended([]() noexcept { return fail(); });
  EXPECT_EQ(broken.first_write, "p2p_matrix: not caught\n");
  EXPECT_EQ(broken.code, static_cast<int>(ExitCode::device_error));
}

class Launcher : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
      ::unsetenv(name);
  }
};

TEST_F(Launcher, SaysHowManyRanksThereAreAndWhichThisIs) {
  EXPECT_FALSE(started_by_mpirun());
  EXPECT_EQ(launched_ranks(), 1);
  ::setenv("PMI_SIZE", "12", 1);
  ::setenv("PMI_RANK", "3", 1);
  EXPECT_TRUE(started_by_mpirun());
  EXPECT_EQ(launched_ranks(), 12);
  EXPECT_EQ(launched_rank(), 3);
  ::setenv("PMI_SIZE", "none", 1);
  EXPECT_EQ(launched_ranks(), 1);
}

DeviceState state(double replays) { return {{{"nvlink_replay", replays}}, {{"temperature", 40 + replays}}}; }

TEST(Health, LeavesOutWhatAMachineSaysOfMoreThanTheDevices) {
  Endpoint gpu;
  gpu.label = "gpu0";
  const std::vector devices{gpu};
  const std::vector before{state(0), state(7)}, after{state(5), state(7), state(9)};
  std::vector<Health> health = open_health(devices, before);
  ASSERT_EQ(health.size(), 1u);
  close_health(health, after);
  ASSERT_EQ(health.size(), 1u);
  EXPECT_EQ(health[0].label, "gpu0");
  EXPECT_EQ(health[0].counters[0].before, 0);
  EXPECT_EQ(health[0].counters[0].after, 5);
  EXPECT_EQ(health[0].readings[0].after, 45);
}

TEST(Health, AddsWhatWasNotKnownBefore) {
  Endpoint gpu;
  gpu.label = "gpu0";
  std::vector<Health> health = open_health(std::vector{gpu}, std::vector{DeviceState{}});
  close_health(health, std::vector{state(5)});
  ASSERT_EQ(health[0].counters.size(), 1u);
  EXPECT_FALSE(health[0].counters[0].before);
  EXPECT_EQ(health[0].counters[0].after, 5);
}

}  // namespace

}  // namespace linkmatrix
