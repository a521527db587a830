#include <gtest/gtest.h>

#include "core/error.hpp"
#include "device/cuda/cuda_backend.hpp"

namespace linkmatrix {
namespace {

/// Skips, with the reason, where there is no GPU.
class CudaBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_cuda(); !reason.empty()) GTEST_SKIP() << reason;
    backend_ = make_cuda_backend({});
    for (std::size_t i = 0; i < backend_->endpoints().size(); ++i) {
      const bool is_device = backend_->endpoints()[i].kind == EndpointKind::device;
      (is_device ? devices_ : host_).push_back(static_cast<int>(i));
    }
  }

  /// Verifies and times the copies.
  void expect_right(const std::vector<Copy>& copies) {
    backend_->prepare(copies, Deadline::in(60));
    for (const PatternCheck& check : backend_->verify(copies, 7, Deadline::in(60))) EXPECT_EQ(check.wrong_bytes, 0u);
    for (const CopyTime& time : backend_->run(copies, 3, Deadline::in(60))) EXPECT_GT(time.seconds, 0);
  }

  bool has_pair() const {
    return devices_.size() > 1 && backend_->topology().peer_access(0, 1).value_or(false) &&
           backend_->topology().peer_access(1, 0).value_or(false);
  }

  std::unique_ptr<Backend> backend_;
  std::vector<int> devices_, host_;
};

constexpr std::uint64_t odd_size = 3 * MiB + 5;

TEST_F(CudaBackend, MovesEveryByteOfAnOddSizeByEveryEngineAndKernel) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  for (const Engine engine : {Engine::ce, Engine::sm})
    for (const Kernel kernel : {Kernel::cached, Kernel::noncached, Kernel::bulk})
      for (const Direction direction : {Direction::write, Direction::read}) {
        SCOPED_TRACE(std::string(word(engine)) + " " + std::string(word(kernel)) + " " + std::string(word(direction)));
        const Copy there{.source = 0,
                         .destination = 1,
                         .bytes = odd_size,
                         .engine = engine,
                         .kernel = kernel,
                         .direction = direction};
        Copy back = there;
        std::swap(back.source, back.destination);
        expect_right({there});
        expect_right({there, back});
      }
}

TEST_F(CudaBackend, MovesEveryByteFromAnOddPlaceInAnyShape) {
  for (const Engine engine : {Engine::ce, Engine::sm})
    for (const Kernel kernel : {Kernel::cached, Kernel::noncached, Kernel::bulk})
      for (const std::uint64_t offset : {0u, 1u, 8u, 4099u})
        for (const std::uint64_t bytes : {std::uint64_t{3}, std::uint64_t{16}, odd_size})
          for (const int blocks : {0, 1, 7}) {
            SCOPED_TRACE(testing::Message() << word(engine) << ' ' << word(kernel) << " offset " << offset << ", "
                                            << bytes << " bytes, " << blocks << " blocks");
            expect_right({{.source = 0,
                           .destination = devices_.back(),
                           .bytes = bytes,
                           .engine = engine,
                           .kernel = kernel,
                           .peer_access = devices_.size() == 1 || has_pair(),
                           .offset = offset,
                           .blocks = blocks,
                           .threads = 64}});
          }
}

TEST_F(CudaBackend, KeepsBackgroundCopiesApartFromTheMeasuredOnes) {
  std::vector<Copy> copies{{.source = 0, .destination = host_.front(), .bytes = 16 * MiB},
                           {.source = host_.front(), .destination = 0, .bytes = 2 * MiB, .background = true},
                           {.source = 0, .destination = host_.front(), .bytes = 2 * MiB, .background = true}};
  copies[2].source_slot = copies[2].destination_slot = 1;
  expect_right(copies);
  const std::vector<CopyTime> times = backend_->run(copies, 2, Deadline::in(60));
  EXPECT_GT(times[0].seconds, times[1].seconds) << "a background copy is timed by the piece";
}

TEST_F(CudaBackend, TimesAtomicAdditionsAndFlagsAndStillCopiesAfterwards) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  for (const Operation operation : {Operation::atomic, Operation::flag})
    for (int i = 0; i < 2; ++i) {
      const std::vector<Copy> copies{
          {.source = 0, .destination = 1, .bytes = 8, .operation = operation, .engine = Engine::sm}};
      expect_right(copies);
      EXPECT_GT(backend_->run(copies, 10, Deadline::in(60)).front().seconds, 100e-9);
    }
}

TEST_F(CudaBackend, CopiesPageableMemoryWhichNoKernelReaches) {
  backend_.reset();
  backend_ = make_cuda_backend({}, {.pages = HostPages::pageable, .huge = false});
  expect_right({{.source = host_.front(), .destination = 0, .bytes = odd_size}});
  expect_right({{.source = 0, .destination = host_.front(), .bytes = odd_size}});
  EXPECT_TRUE(backend_->refusal({.source = 0, .destination = host_.front(), .engine = Engine::sm}));
}

TEST_F(CudaBackend, ReadsWhatTheDriverSaysOfTheDevices) {
  const std::vector<DeviceState> states = backend_->device_states();
  ASSERT_EQ(states.size(), devices_.size());
  EXPECT_GT(states.front().readings.count("temperature_c"), 0u);
  EXPECT_GT(states.front().counters.count("ecc_uncorrected") + states.front().counters.count("xid"), 0u);
}

TEST_F(CudaBackend, SwitchesPeerAccessOffAndOnAgain) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  for (const bool peer_access : {true, false, true})
    expect_right({{.source = 0, .destination = 1, .bytes = odd_size, .peer_access = peer_access}});
}

TEST_F(CudaBackend, CopiesBetweenHostMemoryAndADeviceAndInsideADevice) {
  for (const Engine engine : {Engine::ce, Engine::sm}) {
    expect_right({{.source = host_.front(), .destination = 0, .bytes = odd_size, .engine = engine}});
    expect_right({{.source = 0, .destination = host_.front(), .bytes = odd_size, .engine = engine}});
    expect_right({{.source = 0, .destination = 0, .bytes = odd_size, .engine = engine}});
  }
}

TEST_F(CudaBackend, ChasesLoadsThatTakeLongerThanACacheHit) {
  const std::vector<Copy> copies{{.source = host_.front(),
                                  .destination = 0,
                                  .bytes = backend_->chase_bytes(),
                                  .operation = Operation::chase,
                                  .engine = Engine::sm,
                                  .direction = Direction::read}};
  backend_->prepare(copies, Deadline::in(60));
  EXPECT_GT(backend_->run(copies, 100, Deadline::in(60)).front().seconds, 100e-9);
}

TEST_F(CudaBackend, RefusesWhatIsNotThere) {
  EXPECT_THROW(make_cuda_backend(std::vector{0, 1000}), BadInput);
  const std::vector<Copy> copies{{.source = 0, .destination = 0, .bytes = 1024 * GiB}};
  EXPECT_THROW(backend_->prepare(copies, Deadline::in(60)), BadInput);
  EXPECT_TRUE(backend_->refusal({.engine = Engine::mpi}));
  EXPECT_TRUE(backend_->refusal({.engine = Engine::sm, .peer_access = false}));
}

TEST(WithoutCuda, SaysWhatIsMissing) {
  const std::string reason = why_no_cuda();
  if (reason.empty()) GTEST_SKIP() << "a GPU is here";
  EXPECT_THROW(make_cuda_backend({}), DeviceError);
}

}  // namespace
}  // namespace linkmatrix
