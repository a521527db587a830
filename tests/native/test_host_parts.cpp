#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "device/host/chains.hpp"
#include "device/host/copy_kernels.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {
namespace {

TEST(HostCopyKernels, LeaveTheBytesAroundAlone) {
  for (const Kernel kernel : {Kernel::cached, Kernel::noncached, Kernel::bulk}) {
    alignas(64) std::array<std::byte, 512> from{}, to{};
    from.fill(std::byte{1});
    host_copy(Engine::sm, kernel)(to.data(), from.data(), 133);
    EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{1}), 133) << word(kernel);
    EXPECT_EQ(to[132], std::byte{1});
  }
}

TEST(PointerRing, PassesEveryLineOnceBeforeItCloses) {
  constexpr std::uint64_t bytes = 300 * 64;  // 256 lines are the largest power of two
  alignas(64) static std::array<std::byte, bytes> memory;
  build_ring(memory.data(), bytes);
  std::set<const std::byte*> seen;
  for (const std::byte* at = memory.data(); seen.insert(at).second;) at = chase(at, 1);
  EXPECT_EQ(seen.size(), 256u);
  EXPECT_EQ(chase(memory.data(), 256), memory.data());
}

TEST(Chains, CountEveryAdditionAndHandTheFlagBack) {
  alignas(64) std::array<std::uint64_t, 16> words{};
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::byte*>(&words[i]); };
  add_atomically(at(0), 1000);
  EXPECT_GE(words[0], 1000u);
  const std::atomic<bool> stop = false;
  std::thread other([&] { answer(at(8), at(15), 500, stop); });
  serve(at(8), at(15), 500, stop);
  other.join();
  EXPECT_EQ(words[8], 500u);
  EXPECT_EQ(words[15], 500u);
}

TEST(Worker, RefusesAJobWhileItStillWorksOnOneThatWasGivenUp) {
  std::atomic<bool> end = false;
  Worker worker({});
  worker.start([&end] {
    while (!end) std::this_thread::yield();
  });
  EXPECT_FALSE(worker.wait(Deadline::in(0.01)));
  EXPECT_THROW(worker.start([] {}), DeviceError);
  end = true;
  EXPECT_TRUE(worker.wait(Deadline::in(30)));
}

TEST(CpuList, ReadsAndWritesTheKernelsForm) {
  EXPECT_EQ(parse_cpu_list("0-2,8,10-11"), (std::vector{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(cpu_list_text({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  for (const char* bad : {"", "a", "1-", "1-2-3", "-1", "0-331303318"})
    EXPECT_THROW(parse_cpu_list(bad), std::invalid_argument) << bad;
}

TEST(HostFacts, HaveANameThatIsSafeInFilesAndPages) {
  const HostFacts facts = host_facts();
  EXPECT_EQ(facts.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
            std::string::npos);
  EXPECT_GE(facts.cores, 1);
  EXPECT_GE(facts.numa_nodes, 1);
}

}  // namespace
}  // namespace linkmatrix
