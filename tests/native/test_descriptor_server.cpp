#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/error.hpp"
#include "device/host/descriptor_server.hpp"

namespace linkmatrix {
namespace {

constexpr std::string_view words = "written through a descriptor";

/// Exit code of a process that writes the words into what it gets.
int write_words(const DescriptorKey& key) {
  try {
    const auto descriptor = fetch_descriptor(key);
    const auto written = ::pwrite(descriptor->number(), words.data(), words.size(), 0);
    return written == static_cast<ssize_t>(words.size()) ? 0 : 1;
  } catch (const DeviceError&) {
    return 2;
  }
}

int in_another_process(const DescriptorKey& key) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(write_words(key));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DescriptorServer, HandsADescriptorToAnotherProcess) {
  const auto server = DescriptorServer::get();
  const Descriptor memory(::memfd_create("linkmatrix", MFD_CLOEXEC));
  const DescriptorKey key = server->offer(memory.number());
  ASSERT_EQ(in_another_process(key), 0);
  std::string arrived(words.size(), ' ');
  ASSERT_EQ(::pread(memory.number(), arrived.data(), arrived.size(), 0), static_cast<ssize_t>(words.size()));
  EXPECT_EQ(arrived, words);
  server->withdraw(key);
  EXPECT_EQ(in_another_process(key), 2) << "what was withdrawn is not there any more";
}

TEST(DescriptorServer, GivesNothingForAKeyThatItDoesNotKnow) {
  const auto server = DescriptorServer::get();
  const Descriptor memory(::memfd_create("linkmatrix", MFD_CLOEXEC));
  DescriptorKey key = server->offer(memory.number());
  ++key.number;
  EXPECT_THROW(fetch_descriptor(key), DeviceError);
}

TEST(DescriptorServer, SaysThatItsProcessIsGone) {
  DescriptorKey key;
  {
    const Descriptor memory(::memfd_create("linkmatrix", MFD_CLOEXEC));
    key = DescriptorServer::get()->offer(memory.number());
  }
  EXPECT_THROW(fetch_descriptor(key), DeviceError);
}

}  // namespace
}  // namespace linkmatrix
