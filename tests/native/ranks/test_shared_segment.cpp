#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "core/error.hpp"
#include "ranks/shared_segment.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::uint64_t bytes = 1 << 20;

TEST(SharedSegment, IsTheSameMemoryInAnotherProcess) {
  const SharedSegment mine(bytes, "gpu0");
  EXPECT_EQ(mine.data()[bytes - 1], std::byte{0});
  const pid_t other = ::fork();
  if (other == 0) {
    const SharedSegment theirs(mine.name(), bytes, "gpu1");
    theirs.data()[bytes - 1] = std::byte{7};
    ::_exit(0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine.data()[bytes - 1], std::byte{7});
}

TEST(SharedSegment, EndsWithAProcessThatIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const SharedSegment theirs(bytes, "gpu1");
    (void)!::write(ends[1], theirs.name().c_str(), theirs.name().size());
    for (;;) ::pause();
  }
  std::array<char, 64> name{};
  ASSERT_GT(::read(ends[0], name.data(), name.size() - 1), 0);
  EXPECT_EQ(SharedSegment(name.data(), bytes, "gpu0").data()[0], std::byte{0}) << "while it is there";
  ::kill(other, SIGKILL);
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_THROW(SharedSegment(name.data(), bytes, "gpu0"), DeviceError);
  for (const auto& left : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_FALSE(left.path().filename().string().starts_with("linkmatrix-" + std::to_string(other)));
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace linkmatrix::ranks
