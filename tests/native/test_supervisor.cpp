#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <new>
#include <system_error>

#include "core/limited_call.hpp"
#include "result_facts.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;
TEST(WriteUntil, GivesUpOnAPipeThatNobodyReads) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor out{ends[1]};
  Descriptor in{ends[0]};
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(write_until(out.number(), much, Clock::now() + std::chrono::milliseconds(50)), ETIMEDOUT);
  in.close();
  std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write_until(out.number(), much, Clock::time_point::max()), EPIPE);
}

TEST(RecordText, FormatsFinishedResultsOnceAndTheLastOneAnew) {
  Guarded<Record> record;
  RecordText text(record);
  EXPECT_TRUE(text.take().results.empty());
  record.change([](Record& r) { r.results = {measured("first"), measured("second")}; });
  const Snapshot one = text.take();
  record.change([](Record& r) { r.results.back().notes.push_back("changed"); });
  const Snapshot two = text.take();
  ASSERT_EQ(two.results.size(), 2U);
  EXPECT_EQ(one.results[0], two.results[0]);
  EXPECT_NE(two.results[1]->find("changed"), std::string::npos);
  EXPECT_EQ(two.last->testcase, "second");
  EXPECT_LT(one.version, two.version);
}

/// A supervisor that does not end the process. exited: its exit code. Its streams are pipes, and its file is in a
/// folder.
class Supervised : public testing::Test {
 protected:
  void SetUp() override {
    stop_signal = 0;
    ASSERT_EQ(::pipe(out_.data()), 0);
    ASSERT_EQ(::pipe(err_.data()), 0);
    fs::create_directories(folder_);
    setup_.program = "test";
    setup_.output = out_[1];
    setup_.errors = err_[1];
    setup_.patience = SupervisorSetup::Seconds(0.05);
    setup_.between_checkpoints = SupervisorSetup::Seconds(0.01);
    setup_.rescue =
        SupervisorSetup::Seconds(30);  // a busy machine under a sanitizer writes slowly, and only a hang waits so long
    setup_.teardown = SupervisorSetup::Seconds(0.05);
    setup_.exit = [this](int code) { exited_.set_value(code); };
  }
  void TearDown() override {
    supervisor_.reset();
    for (const int end : {out_[0], out_[1], err_[0], err_[1]}) ::close(end);
    fs::remove_all(folder_);
    stop_signal = 0;
  }
  Supervisor& start() {
    supervisor_ = std::make_unique<Supervisor>(setup_);
    supervisor_->record().change([](Record& r) { static_cast<RecordHead&>(r).program = "test"; });
    return *supervisor_;
  }
  Supervisor& start_writing() {
    start().write_to(file_, 16);
    supervisor_->record().change([](Record& r) { r.results.push_back(measured("first")); });
    return *supervisor_;
  }
  /// Moves the folder in one step, because the supervisor may write at the same time.
  void take_folder_away() const {
    const fs::path away = folder_.string() + ".away";
    fs::rename(folder_, away);
    // A write in progress may still add one file to the folder.
    std::error_code error;
    do fs::remove_all(away, error);
    while (error == std::errc::directory_not_empty);
    ASSERT_FALSE(error) << error.message();
  }
  int exit_code() { return exited_.get_future().get(); }
  std::string content() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool holds(const std::string& text) const { return content().find(text) != std::string::npos; }
  void wait_for(const std::string& text) const {
    for (const Deadline patience = Deadline::in(30); !holds(text) && !patience.passed();) std::this_thread::yield();
    EXPECT_TRUE(holds(text)) << content();
  }
  /// A later write into the pipe waits.
  static void wait_until_full(int end) {
    const int room = ::fcntl(end, F_GETPIPE_SZ);
    std::array<int, 1> there{};
    for (const Deadline patience = Deadline::in(30); there[0] < room && !patience.passed(); std::this_thread::yield())
      ASSERT_EQ(::ioctl(end, FIONREAD, there.data()), 0);
    ASSERT_EQ(there[0], room);
  }
  static std::string read(int end) {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(end, text.data(), text.size()))));
    return text;
  }

  SupervisorSetup setup_;
  std::array<int, 2> out_{}, err_{};
  std::promise<int> exited_;
  fs::path folder_ = fs::temp_directory_path() / ("supervised." + std::to_string(::getpid()));
  fs::path file_ = folder_ / "r.json";
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(Supervised, KeepsCheckpointsAndThenTheRecord) {
  Supervisor& supervisor = start_writing();
  wait_for(R"("result":"INCOMPLETE")");
  wait_for(R"("testcase":"first")");
  supervisor.record().change([](Record& r) { r.results.push_back(measured("second")); });
  wait_for(R"("testcase":"second")");
  EXPECT_EQ(supervisor.end(passed()), ExitCode::measured);
  EXPECT_TRUE(holds(R"("result":"PASS","error":null)")) << content();
  EXPECT_NE(read(out_[0]).find("\nResult: PASS\n"), std::string::npos);
  EXPECT_EQ(exit_code(), 0) << "what comes after the end is bounded too";
}

TEST_F(Supervised, EndsARunThatDoesNotHeedTheSignal) {
  start_writing();
  ::kill(::getpid(), SIGUSR1);
  EXPECT_EQ(exit_code(), 4);
  EXPECT_EQ(stop_signal, SIGUSR1);
  EXPECT_TRUE(holds(R"("result":"TIMEOUT","error":"ended by signal)")) << content();
  EXPECT_TRUE(holds("first"));
  EXPECT_NE(read(err_[0]).find("test: ended by signal"), std::string::npos);
}

TEST_F(Supervised, EndsARunWhoseDeadlineHasPassed) {
  start_writing().end_by(Deadline::in(0.05));
  EXPECT_EQ(exit_code(), 4);
  EXPECT_TRUE(holds("did not return within --timeout")) << content();
}

TEST_F(Supervised, EndsARunOfWhichACallDoesNotReturn) {
  start_writing();
  { const LimitedCall returned(0, "MPI"); }
  const LimitedCall call(0.05, "MPI");
  EXPECT_EQ(exit_code(), 4);
  EXPECT_TRUE(holds("a call into MPI did not return in time")) << content();
}

TEST_F(Supervised, EndsARunOfWhichACallWithinACallDoesNotReturn) {
  start_writing();
  const LimitedCall outer(3600, "MPI");
  { const LimitedCall returned(60, "NCCL"); }
  EXPECT_STREQ(LimitedCall::limit().library, "MPI") << "one that returned bounds nothing any more";
  const LimitedCall inner(0.05, "NCCL");
  { const LimitedCall longer(7200, "MPI"); }
  EXPECT_EQ(exit_code(), 4);
  EXPECT_TRUE(holds("a call into NCCL did not return in time")) << content();
}

TEST_F(Supervised, SaysThatNobodyReadsItsOutput) {
  Supervisor& supervisor = start_writing();
  std::thread printing([&] { supervisor.print(std::string(1 << 20, 'x')); });
  wait_until_full(out_[0]);
  supervisor.end_by(Deadline::in(0.05));
  EXPECT_EQ(exit_code(), 4);
  EXPECT_TRUE(holds("standard output was not read")) << content();
  ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t left = 1 << 20; left > 0;) left -= std::min(left, read(out_[0]).size());
  printing.join();
}

TEST_F(Supervised, BeforeThereIsARecordOnlySaysWhy) {
  start();
  EXPECT_EQ(supervisor_->end(refused("an option is wrong")), ExitCode::bad_input);
  EXPECT_EQ(read(err_[0]), "test: an option is wrong\n");
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(Supervised, WhatCannotBeWrittenIsNoPass) {
  // A checkpoint without space ends the process immediately. Only the record has no space here.
  setup_.write = [](const auto& text, const auto&, int, const auto&) {
    return std::string(text.find("INCOMPLETE") == std::string::npos ? "No space left on device" : "");
  };
  EXPECT_EQ(start_writing().end(passed()), ExitCode::bad_input);
  EXPECT_NE(read(out_[0]).find("\nResult: ERROR\n"), std::string::npos);
  EXPECT_NE(read(err_[0]).find("cannot be written (No space left on device)"), std::string::npos);
}

TEST_F(Supervised, AnExceptionInAWriteIsASentenceToo) {
  setup_.write = [](const auto&, const auto&, int, const auto&) -> std::string { throw std::bad_alloc(); };
  EXPECT_EQ(start_writing().end(passed()), ExitCode::bad_input);
  EXPECT_NE(read(err_[0]).find("out of host memory"), std::string::npos);
}

TEST_F(Supervised, WantOfMemoryInTheLastWriteLosesNothingWhereSomeIsLeft) {
  std::atomic<bool> refused = false;
  setup_.write = [&](const auto& text, const auto& file, int number, const auto& is_current) -> std::string {
    if (text.find("PASS") != std::string::npos && !refused.exchange(true)) throw std::bad_alloc();
    return write_whole(text, file, number, is_current);
  };
  EXPECT_EQ(start_writing().end(passed()), ExitCode::measured);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(holds(R"("result":"PASS")")) << content();
}

TEST_F(Supervised, AFolderThatGoesForAWhileDoesNotEndWhatIsMeasured) {
  start_writing();
  take_folder_away();
  EXPECT_NO_THROW(supervisor_->write_to(file_, 16)) << "it could be written when it was asked first";
  fs::create_directories(folder_);
  EXPECT_EQ(supervisor_->end(passed()), ExitCode::measured);
  EXPECT_TRUE(holds(R"("result":"PASS")")) << content();
}

TEST_F(Supervised, LeavesNothingOfAWriteThatHangs) {
  setup_.rescue = SupervisorSetup::Seconds(0.5);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> hanging = 0;
  setup_.write = [&, released](const auto& text, const auto& file, int number, const auto&) {
    ++hanging;
    std::ofstream(file.string() + "." + std::to_string(::getpid()) + "." + std::to_string(number) + ".partial") << text;
    released.wait();
    --hanging;
    return std::string();
  };
  start_writing();
  while (hanging == 0) std::this_thread::yield();
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(exit_code(), 2);
  EXPECT_TRUE(fs::is_empty(folder_));
  release.set_value();
  while (hanging > 0) std::this_thread::yield();
}

TEST_F(Supervised, AHungFileSystemHoldsNobodyUp) {
  setup_.rescue = SupervisorSetup::Seconds(0.5);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> hanging = 0;
  setup_.write = [&, released](const auto&, const auto&, int, const auto&) {
    ++hanging;
    released.wait();
    --hanging;
    return std::string();
  };
  start_writing();
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(exit_code(), 2);
  EXPECT_NE(read(err_[0]).find("its file system may hang"), std::string::npos);
  release.set_value();
  while (hanging > 0) std::this_thread::yield();
}

TEST_F(Supervised, ACheckpointThatCameLateDoesNotReplaceTheRecord) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<bool> began = false, done = false;
  setup_.write = [&, released](const auto& text, const auto& file, int number, const auto& is_current) {
    if (!began.exchange(true)) {
      released.wait();
      EXPECT_FALSE(is_current());
      const std::string why = write_whole(text, file, number, is_current);
      done = true;
      return why;
    }
    return write_whole(text, file, number, is_current);
  };
  setup_.teardown = SupervisorSetup::Seconds(3600);
  Supervisor& supervisor = start_writing();
  while (!began) std::this_thread::yield();
  EXPECT_EQ(supervisor.end(passed()), ExitCode::measured);
  release.set_value();
  while (!done) std::this_thread::yield();
  EXPECT_TRUE(holds(R"("result":"PASS")")) << content();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing half-written is left";
}

TEST_F(Supervised, AServerEndsWithItsCodeAndSaysNothing) {
  start().serve();
  EXPECT_EQ(supervisor_->end(passed()), ExitCode::measured);
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_EQ(exit_code(), 0);
}

}  // namespace
}  // namespace linkmatrix
