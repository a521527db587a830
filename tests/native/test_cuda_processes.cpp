#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "core/error.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/cuda_backend.hpp"
#include "device/cuda/discovery.hpp"

namespace linkmatrix {
namespace {

/// Tests that need a new process without initialized CUDA.
class CudaProcess : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) GTEST_SKIP() << "CUDA_VISIBLE_DEVICES is set";
  }

  /// Without a call of CUDA, which must not be initialized before a fork or a change of a variable.
  static int devices() { return cuda::Nvml().device_count(); }

  /// Ends the process: 0 if all of it is true.
  [[noreturn]] static void end(std::initializer_list<std::pair<const char*, bool>> all) {
    int wrong = 0;
    for (const auto& [what, is_true] : all) {
      if (is_true) continue;
      std::fprintf(stderr, "not true: %s\n", what);
      ++wrong;
    }
    std::exit(wrong);  // destructors and all: it must not block
  }
};

/// Takes all memory of a device, says so with one byte, and keeps it until nobody listens any more.
[[noreturn]] void hold_all_memory(int device, int told, int wait_for) {
  std::string reason;
  if (cuda::visible_devices(reason) <= device || cudaSetDevice(device) != cudaSuccess) std::_Exit(1);
  for (std::size_t chunk = std::size_t{16} << 30; chunk >= 1 << 16; chunk /= 2)
    for (void* memory = nullptr; cudaMalloc(&memory, chunk) == cudaSuccess;) {
    }
  char word = 'x';
  if (::write(told, &word, 1) != 1) std::_Exit(1);
  while (::read(wait_for, &word, 1) > 0) {
  }
  std::_Exit(0);
}

/// A process that holds a device's memory while this lives.
class MemoryHolder {
 public:
  explicit MemoryHolder(int device) {
    if (::pipe(told_) != 0 || ::pipe(wait_) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();  // before this process has called CUDA
    if (pid_ == 0) {
      ::close(wait_[1]);
      hold_all_memory(device, told_[1], wait_[0]);
    }
    ::close(told_[1]);
    char word = 0;
    holds_ = ::read(told_[0], &word, 1) == 1;
  }
  ~MemoryHolder() {
    ::close(wait_[1]);
    ::waitpid(pid_, nullptr, 0);
  }
  MemoryHolder(const MemoryHolder&) = delete;
  MemoryHolder& operator=(const MemoryHolder&) = delete;
  bool holds() const { return holds_; }

 private:
  int told_[2]{}, wait_[2]{};
  pid_t pid_ = 0;
  bool holds_ = false;
};

TEST_F(CudaProcess, LosesOnlyTheDeviceWhoseMemoryAnotherProcessHolds) {
  if (devices() < 2) GTEST_SKIP() << "no two GPUs";
  const auto measure = [] {
    const MemoryHolder holder(1);
    const auto backend = make_cuda_backend(std::vector{0, 1});
    const std::string why = backend->lost(1).value_or("");
    std::fprintf(stderr, "lost: %s\n", why.c_str());
    const std::vector<Copy> own{{.source = 0, .destination = 0, .bytes = MiB}},
        across{{.source = 0, .destination = 1, .bytes = MiB}};
    int endpoint = -1;
    try {
      backend->prepare(across, Deadline::in(60));
    } catch (const CopiesFailed& e) {
      endpoint = e.failures().front().endpoint.value_or(-1);
    }
    backend->prepare(own, Deadline::in(60));
    const bool right = backend->verify(own, 7, Deadline::in(60)).front().wrong_bytes == 0;
    end({{"the memory is held", holder.holds()},
         {"gpu1 is lost", !why.empty()},
         {"it says who holds the memory", why.find("holds") != std::string::npos},
         {"it is a loss of memory", backend->lost_kind(1) == LossKind::memory},
         {"gpu0 is not lost", !backend->lost(0)},
         {"a copy to gpu1 fails with it", endpoint == 1},
         {"gpu0 is measured", right}});
  };
  EXPECT_EXIT(measure(), testing::ExitedWithCode(0), "");
}

TEST_F(CudaProcess, HasNoContextOnADeviceThatIsNotWanted) {
  if (devices() < 2) GTEST_SKIP() << "no two GPUs";
  const auto measure = [] {
    const cuda::Nvml nvml;
    std::string reason;
    cuda::visible_devices(reason);
    const auto both = cuda::describe_devices(std::vector{0, 1});
    const auto users = [&](std::size_t d) {
      std::set<unsigned> pids;
      for (const auto& process : nvml.processes(both[d].pci).value_or(std::vector<DeviceProcess>{}))
        pids.insert(process.pid);
      return pids;
    };
    const std::set<unsigned> others = users(1);
    const auto backend = make_cuda_backend(std::vector{1});
    const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB},
                                   {.source = 1, .destination = 0, .bytes = MiB, .background = true}};
    backend->prepare(copies, Deadline::in(60));
    backend->verify(std::span(copies).first(1), 7, Deadline::in(60));
    backend->run(copies, Deadline::in(60));
    // This process is whoever has come to gpu1: in a container NVML counts processes in another way than getpid.
    std::set<unsigned> own = users(1);
    for (const unsigned pid : others) own.erase(pid);
    if (own.empty()) std::fprintf(stderr, "NVML shows no processes here: nothing was tested\n");
    const std::set<unsigned> on_0 = users(0);
    end({{"no context on gpu0",
          std::none_of(own.begin(), own.end(), [&](unsigned pid) { return on_0.contains(pid); })}});
  };
  EXPECT_EXIT(measure(), testing::ExitedWithCode(0), "");
}

/// An illegal address breaks the contexts of all devices of a process (seen with driver 580): the first failure names
/// the device, the others are lost with it, and all ends in order. One process a GPU keeps the others.
TEST_F(CudaProcess, NamesTheDeviceWhoseContextBreaksLosesTheOthersAfterItAndEndsAllTheSame) {
  if (devices() < 2) GTEST_SKIP() << "no two GPUs";
  const auto measure = [] {
    auto backend = make_cuda_backend(std::vector{0, 1});
    const std::vector<Copy> own{{.source = 0, .destination = 0, .bytes = MiB}},
        across{{.source = 1, .destination = 0, .bytes = MiB}, {.source = 0, .destination = 0, .bytes = MiB}};
    backend->prepare(across, Deadline::in(60));
    backend->prepare(own, Deadline::in(60));
    cudaSetDevice(1);
    cuda::launch_chase(nullptr, 100, nullptr, nullptr);  // an illegal address: the context is gone
    bool blamed = false;
    try {
      for (int i = 0; i < 3; ++i) backend->run(across, Deadline::in(20));
    } catch (const CopiesFailed& e) {
      std::fprintf(stderr, "failed: %s\n", e.what());
      for (const auto& failure : e.failures()) {
        blamed = blamed || (failure.copy == 0 && failure.endpoint == 1);
      }
    }
    const bool lost_1 = backend->lost(1).has_value();
    bool right = false;  // gpu0 still copies, or says that it does not and is lost: nothing else
    try {
      backend->run(own, Deadline::in(60));
      right = backend->verify(own, 7, Deadline::in(60)).front().wrong_bytes == 0 && !backend->lost(0);
    } catch (const CopiesFailed& e) {
      right = e.failures().size() == 1 && e.failures().front().endpoint == 0 && backend->lost(0).has_value();
    }
    backend.reset();
    end({{"the copy failed with gpu1", blamed},
         {"gpu1 is lost", lost_1},
         {"gpu0 copies right, or is lost too", right}});
  };
  EXPECT_EXIT(measure(), testing::ExitedWithCode(0), "");
}

TEST_F(CudaProcess, FindsItselfInTheDriversListAndNamesTheOtherProcess) {
  if (devices() < 1) GTEST_SKIP() << "no GPU";
  const auto poll = [] {
    auto alone = make_cuda_backend(std::vector{0});
    std::vector<unsigned> before;
    for (const OtherProcess& process : alone->activity().processes)
      if (process.where == "gpu0") before.push_back(process.pid);  // other GPUs of the node are polled too
    alone.reset();
    std::fprintf(stderr, "%zu other processes\n", before.size());
    cuda::Nvml nvml;
    const auto listed = nvml.processes(cuda::describe_devices(std::vector{0}).front().pci);
    const std::size_t all = listed ? listed->size() : 0;
    end({{"the driver lists this process, or none", all == 0 || all == before.size() + 1}});
  };
  EXPECT_EXIT(poll(), testing::ExitedWithCode(0), "");
}

TEST_F(CudaProcess, SaysThatAVariableHidesTheDevices) {
  if (devices() < 1) GTEST_SKIP() << "no GPU";
  const auto ask = [] {
    ::setenv("CUDA_VISIBLE_DEVICES", "99", 1);
    bool refused = false;
    try {
      make_cuda_backend({});
    } catch (const BadInput& e) {
      refused = std::string(e.what()).find("CUDA_VISIBLE_DEVICES='99'") != std::string::npos;
    }
    end({{"it is bad input that names the variable", refused}});
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace linkmatrix
