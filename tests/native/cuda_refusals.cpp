#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

/// Returns the exit code and the output of p2p_matrix if MPS refuses it with an error.
std::pair<int, std::string> refused(int error, const std::string& options) {
  const std::string command = "REFUSES_WITH=" + std::to_string(error) + " " P2P_MATRIX " " + options + " 2>&1";
  FILE* const program = ::popen(command.c_str(), "r");
  std::string said;
  for (char part[4096]; const std::size_t count = std::fread(part, 1, sizeof part, program);) said.append(part, count);
  const int status = ::pclose(program);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said};
}

struct Refusal {
  int error;  ///< of cudaErrorMps…
  const char* said;
};

class MpsRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(MpsRefuses, IsSaidWithTheWayOutAndNothingIsMeasuredInItsPlace) {
  for (const char* options : {"", "--backend cuda", "--backend cuda --devices 0"}) {
    const auto [code, said] = refused(GetParam().error, options);
    EXPECT_EQ(code, 3) << said;
    EXPECT_NE(said.find("the CUDA driver reports: "), std::string::npos) << said;
    EXPECT_NE(said.find(GetParam().said), std::string::npos) << said;
    EXPECT_EQ(said.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << "no variable hides them: " << said;
    EXPECT_EQ(said.find("GB/s"), std::string::npos) << "something was measured: " << said;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, MpsRefuses,
    testing::Values(Refusal{805, "start nvidia-cuda-mps-control -d with the CUDA_MPS_PIPE_DIRECTORY"},
                    Refusal{806, "see server.log in CUDA_MPS_LOG_DIRECTORY"},
                    Refusal{807, "try again when its clients have ended"},
                    Refusal{808, "end other clients of MPS, or start fewer processes"},
                    Refusal{809, "end other clients of MPS, or start fewer processes"},
                    Refusal{810, "a fault of another client or of MPS ended this client: run again"}),
    [](const auto& one) { return std::to_string(one.param.error); });

TEST(MpsRefusesNobody, HostMemoryIsMeasuredWhereItIsAskedFor) {
  const auto [code, said] = refused(805, "--backend host --testcase device_local_copy --size 64KiB --samples 7");
  EXPECT_EQ(code, 0) << said;
}

}  // namespace
