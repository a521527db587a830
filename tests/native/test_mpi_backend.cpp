#include <gtest/gtest.h>
#include <mpi.h>

#include <memory>

#include "core/error.hpp"
#include "device/mpi/mpi_backend.hpp"

namespace linkmatrix {
namespace {

std::unique_ptr<Backend> backend;  // MPI starts once in a process: made by main

int ranks() { return static_cast<int>(backend->endpoints().size()); }

std::vector<Copy> ring(std::uint64_t bytes) {
  std::vector<Copy> copies;
  for (int r = 0; r < ranks(); ++r)
    copies.push_back({.source = r, .destination = (r + 1) % ranks(), .bytes = bytes, .engine = Engine::mpi});
  return copies;
}

/// The same on every rank?
bool agreed(double value) {
  double low = value, high = value;
  MPI_Allreduce(MPI_IN_PLACE, &low, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &high, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return low == high;
}

TEST(MpiBackend, MovesEveryByteOfAnOddSizeWhileEveryRankSendsAndReceives) {
  const auto copies = ring(5 * MiB + 3);
  backend->prepare(copies, Deadline::in(30));
  for (const PatternCheck& check : backend->verify(copies, 7, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
}

TEST(MpiBackend, GivesEveryRankTheSameTimes) {
  const auto copies = ring(MiB);
  backend->prepare(copies, Deadline::in(30));
  for (const CopyTime& time : backend->run(copies, 3, Deadline::in(30))) {
    EXPECT_GT(time.seconds, 0);
    EXPECT_TRUE(agreed(time.seconds));
  }
}

TEST(MpiBackend, MeasuresAPairWhileOthersWait) {
  const std::vector<Copy> copies{{.source = 1, .destination = 0, .bytes = 200 * KiB, .engine = Engine::mpi}};
  backend->prepare(copies, Deadline::in(30));
  EXPECT_TRUE(agreed(backend->run(copies, 10, Deadline::in(30)).front().seconds));
  EXPECT_EQ(backend->verify(copies, 7, Deadline::in(30)).front().wrong_bytes, 0u);
}

TEST(MpiBackend, PlaysPingPong) {
  const std::vector<Copy> copies{
      {.source = 0, .destination = 1, .bytes = 16, .operation = Operation::chase, .engine = Engine::mpi}};
  backend->prepare(copies, Deadline::in(30));
  const double seconds = backend->run(copies, 100, Deadline::in(30)).front().seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 1);
}

TEST(MpiBackend, MovesCopiesOfDifferentSizesAtOnce) {
  std::vector<Copy> copies = ring(3 * MiB + 1);
  copies.front().bytes = 5;
  backend->prepare(copies, Deadline::in(30));
  for (const PatternCheck& check : backend->verify(copies, 3, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
}

TEST(MpiBackend, MeasuresBothWaysOfAPairAtOnce) {
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB + 7, .engine = Engine::mpi},
                                 {.source = 1, .destination = 0, .bytes = MiB + 7, .engine = Engine::mpi}};
  backend->prepare(copies, Deadline::in(30));
  for (const CopyTime& time : backend->run(copies, 3, Deadline::in(30))) EXPECT_GT(time.seconds, 0);
  for (const PatternCheck& check : backend->verify(copies, 3, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
}

TEST(MpiBackend, ComplainsOnAllRanksWhereOneHasNotEnoughMemory) {
  const std::uint64_t bytes = backend->is_root() ? 1024 * GiB : MiB;
  EXPECT_THROW(backend->prepare(ring(bytes), Deadline::in(30)), BadInput);
}

TEST(MpiBackend, DecidesTogether) {
  EXPECT_TRUE(backend->any(backend->is_root()));
  EXPECT_FALSE(backend->any(false));
}

TEST(MpiBackend, KnowsItsNodeAndItsLauncher) {
  EXPECT_TRUE(started_by_mpirun());
  EXPECT_EQ(backend->topology().link_class(0, 1), "NODE");
  EXPECT_TRUE(backend->refusal({.engine = Engine::ce}));
  EXPECT_FALSE(backend->refusal({.engine = Engine::mpi}));
}

}  // namespace
}  // namespace linkmatrix

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  linkmatrix::backend = linkmatrix::make_mpi_backend();
  const int failed = RUN_ALL_TESTS();
  const int any_failed = linkmatrix::backend->any(failed != 0) ? 1 : 0;
  linkmatrix::backend.reset();
  return any_failed;
}
