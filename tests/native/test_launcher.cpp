#include <gtest/gtest.h>

#include <cstdlib>

#include "program/program_main.hpp"

namespace linkmatrix {
namespace {

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

}  // namespace
}  // namespace linkmatrix
