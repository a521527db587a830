#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/cuda/cuda_backend.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

/// Kernels of two devices, and of one with a thread of the host; each way, and what drills make of it.
class CudaVisibility : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    backend_ = make_cuda_backend({}, {});
    if (const auto why = why_not(testcase(GetParam()), *backend_, {})) GTEST_SKIP() << *why;
  }

  Visibility seen(WriteFault fault, int repeats) {
    Copy copy = make_plan(testcase(GetParam()), *backend_, {}).cells.front().copies.front();
    copy.write_fault = fault;
    copy.repeats = repeats;
    const std::vector<Copy> copies{copy};
    backend_->prepare(copies, Deadline::in(60));
    return backend_->run(copies, Deadline::in(60)).copies.front().visibility.value();
  }

  std::unique_ptr<Backend> backend_;
};
INSTANTIATE_TEST_SUITE_P(EachWay, CudaVisibility,
                         testing::Values("device_to_device_visibility_write_sm", "device_to_device_visibility_read_sm",
                                         "device_to_host_visibility_write_sm", "host_to_device_visibility_read_sm"));

TEST_P(CudaVisibility, HoldsInEveryRound) {
  const Visibility all = seen(WriteFault::none, 20);
  EXPECT_TRUE(all.holds()) << sentence_of(all, "the writer", "the reader");
  EXPECT_EQ(all.rounds, 20u * accesses_per_repeat);
}

TEST_P(CudaVisibility, SeesDataThatComesAfterItsFlagAndAWordThatDoesNotCome) {
  const Visibility late = seen(WriteFault::reorder, 1), lost = seen(WriteFault::drop, 1);
  EXPECT_EQ(late.wrong_words, late.rounds * handover_words);
  EXPECT_EQ(lost.wrong_words, lost.rounds);
  EXPECT_TRUE(seen(WriteFault::none, 1).holds()) << "what a drill left behind is no fault";
}

TEST_P(CudaVisibility, GivesUpAFlagThatIsNeverSetAndGoesOnAfterwards) {
  const Visibility lost = seen(WriteFault::drop_flag, 1);
  EXPECT_EQ(lost.unseen_flags, 1u);
  EXPECT_EQ(lost.rounds, accesses_per_repeat / 2);
  EXPECT_TRUE(seen(WriteFault::none, 1).holds());
}

}  // namespace
}  // namespace linkmatrix
