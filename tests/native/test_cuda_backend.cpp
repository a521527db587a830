#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/cuda_backend.hpp"
#include "device/cuda/discovery.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {
namespace {

/// Skips the test without a GPU, with the reason.
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
    expect_timed(run(copies, 3));
  }

  Timeline run(std::vector<Copy> copies, int repeats) {
    for (Copy& copy : copies) copy.repeats = repeats;
    return backend_->run(copies, Deadline::in(60));
  }

  static void expect_timed(const Timeline& timeline) {
    for (const CopyTime& time : timeline.copies) {
      EXPECT_GE(time.span.start, 0);
      EXPECT_GT(time.span.seconds(), 0);
    }
  }

  static double per_transfer(const CopyTime& time) { return time.span.seconds() / time.transfers; }

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
  const std::vector<CopyTime> times = run(copies, 2).copies;
  EXPECT_GT(per_transfer(times[0]), per_transfer(times[1])) << "a background copy is timed by the piece";
}

TEST_F(CudaBackend, TimesAtomicAdditionsAndFlagsAndStillCopiesAfterwards) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  for (const Operation operation : {Operation::atomic, Operation::flag})
    for (int i = 0; i < 2; ++i) {
      const std::vector<Copy> copies{
          {.source = 0, .destination = 1, .bytes = 8, .operation = operation, .engine = Engine::sm}};
      expect_right(copies);
      EXPECT_GT(per_transfer(run(copies, 10).copies.front()), 100e-9);
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
  EXPECT_GT(per_transfer(run(copies, 100).copies.front()), 100e-9);
}

TEST_F(CudaBackend, RefusesWhatIsNotThere) {
  EXPECT_THROW(make_cuda_backend(std::vector{0, 1000}), BadInput);
  const std::vector<Copy> copies{{.source = 0, .destination = 0, .bytes = 1024 * GiB}};
  EXPECT_THROW(backend_->prepare(copies, Deadline::in(60)), BadInput);
  EXPECT_TRUE(backend_->refusal({.engine = Engine::mpi}));
  EXPECT_TRUE(backend_->refusal({.engine = Engine::sm, .peer_access = false}));
}

/// Checks that the spans of a call lie within the duration of the call, on any machine.
void expect_within(const Timeline& timeline, double call_seconds) {
  std::vector<Span> spans;
  for (const CopyTime& time : timeline.copies) spans.push_back(time.span);
  EXPECT_LE(hull(spans).seconds(), call_seconds);
  EXPECT_GE(timeline.uncertainty, 0);
  EXPECT_LT(timeline.uncertainty, call_seconds);
}

TEST_F(CudaBackend, PutsCopiesOfSeveralDevicesOnOneClock) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 64 * MiB},
                           {.source = 1, .destination = 0, .bytes = 64 * MiB}};
  backend_->prepare(copies, Deadline::in(60));
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    const Timeline timeline = run(copies, 16);
    EXPECT_EQ(timeline.timing, Timing::gate);
    EXPECT_GT(timeline.uncertainty, 0);
    expect_within(timeline, seconds_since(begin));
    for (const CopyTime& time : timeline.copies) EXPECT_EQ(time.span.start, 0) << "each device's first copy starts it";
  }
}

TEST_F(CudaBackend, RepeatsACopyOverTheLinkAndNotOutOfACache) {
  if (!has_pair()) GTEST_SKIP() << "no two GPUs with peer access";
  const auto limit = backend_->topology().limit(0, 1);
  if (!limit) GTEST_SKIP() << "what the link can carry is not known";
  constexpr std::uint64_t bytes = 32 * MiB;  // as much as the first-level caches of an H200 hold together
  for (const Kernel kernel : {Kernel::cached, Kernel::noncached, Kernel::bulk}) {
    const Copy copy{.source = 0,
                    .destination = 1,
                    .bytes = bytes,
                    .engine = Engine::sm,
                    .kernel = kernel,
                    .direction = Direction::read,
                    .looped = true};
    expect_right({copy});
    const double seconds = per_transfer(run({copy}, 64).copies.front());
    EXPECT_LE(static_cast<double>(bytes) / seconds * 1e-9, *limit) << word(kernel) << ": more than the link can carry";
  }
}

TEST_F(CudaBackend, HandsCopiesWithoutPeerAccessOverInTurn) {
  if (devices_.size() < 2) GTEST_SKIP() << "no two GPUs";
  std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 16 * MiB, .peer_access = false},
                           {.source = 1, .destination = 0, .bytes = 16 * MiB, .peer_access = false}};
  expect_right(copies);
  const auto begin = Clock::now();
  const Timeline timeline = run(copies, 5);
  const double call = seconds_since(begin);
  EXPECT_EQ(timeline.timing, Timing::in_turn);
  expect_within(timeline, call);
  EXPECT_EQ(timeline.copies[0].span.start, 0);
  EXPECT_GT(timeline.copies[1].span.start, 0) << "handed over after the first";
  const double first_end = timeline.copies[0].span.end;
  EXPECT_GT(first_end, timeline.copies[1].span.start) << "a transfer of each at a time";
}

TEST_F(CudaBackend, KeepsALoadUpForAsLongAsTheMeasuredCopiesRunWhateverTheRatio) {
  for (const std::uint64_t background : {1 * MiB, 8 * MiB, 64 * MiB})
    for (const std::uint64_t measured : {8 * MiB, 64 * MiB}) {
      std::vector<Copy> copies{{.source = 0, .destination = host_.front(), .bytes = measured},
                               {.source = host_.front(), .destination = 0, .bytes = background, .background = true}};
      backend_->prepare(copies, Deadline::in(60));
      const Timeline timeline = run(copies, 8);
      EXPECT_GE(timeline.copies[1].transfers, 8);
      EXPECT_GE(timeline.copies[1].span.end, least_loaded_share * timeline.copies[0].span.end)
          << background << " bytes beside " << measured << ": the host did not keep up";
    }
}

TEST_F(CudaBackend, LaysARingAnewThatAVerificationWroteOver) {
  const std::vector<Copy> copies{{.source = 0,
                                  .destination = 0,
                                  .bytes = backend_->chase_bytes(),
                                  .operation = Operation::chase,
                                  .engine = Engine::sm,
                                  .direction = Direction::read}};
  backend_->prepare(copies, Deadline::in(60));
  for (int i = 0; i < 3; ++i) {
    expect_timed(run(copies, 10));
    EXPECT_EQ(backend_->verify(copies, 7, Deadline::in(60)).front().wrong_bytes, 0u);
  }
}

TEST_F(CudaBackend, GivesUpALateCopyButNotItsDevice) {
  std::vector<Copy> copies{{.source = 0, .destination = 0, .bytes = 512 * MiB}};
  copies.front().repeats = 100;
  backend_->prepare(copies, Deadline::in(60));
  for (const double seconds : {0.0, 0.002}) {
    try {
      backend_->run(copies, Deadline::in(seconds));
      FAIL() << "51 GB in " << seconds << " s";
    } catch (const CopiesFailed& e) {
      ASSERT_EQ(e.failures().size(), 1u);
      EXPECT_EQ(e.failures().front().status, CellStatus::timeout);
      EXPECT_FALSE(e.failures().front().endpoint);
    }
  }
  EXPECT_FALSE(backend_->lost(0));
  expect_right(copies);
}

TEST_F(CudaBackend, RefusesASizeBeforeItAllocatesAnything) {
  backend_->prepare(std::vector<Copy>{{.source = 0, .destination = 0, .bytes = MiB}}, Deadline::in(60));
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  const std::size_t before = free_bytes();
  for (const auto& [from, to] : {std::pair{host_.front(), 0}, {0, host_.front()}}) {
    const std::vector<Copy> copies{{.source = from, .destination = to, .bytes = 1024 * GiB}};
    EXPECT_THROW(backend_->prepare(copies, Deadline::in(60)), BadInput);
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(CudaBackend, SaysWhichPartADeviceIsAndWhereItIs) {
  const Endpoint& device = backend_->endpoints().front();
  EXPECT_EQ(device.part.at("uuid"), device.uuid);
  EXPECT_TRUE(device.part.contains("vbios"));
  EXPECT_EQ(device.place.at("pci"), device.pci);
  EXPECT_EQ(device.place.at("node"), device.node);
}

TEST(WithoutCuda, SaysWhatIsMissing) {
  const std::string reason = why_no_cuda();
  if (reason.empty()) GTEST_SKIP() << "a GPU is here";
  EXPECT_THROW(make_cuda_backend({}), DeviceError);
}

}  // namespace
}  // namespace linkmatrix
