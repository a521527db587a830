#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "own_folder.hpp"
#include "run/live_line.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {
namespace {

const Progress half{"device_to_device_memcpy_write_ce", 3, 12, 28, 56, 40.0};

TEST(LiveText, SaysTheTestCaseTheCellsTheMatrixAndHowLongItWillTake) {
  EXPECT_EQ(live_text(half, 100), "device_to_device_memcpy_write_ce, 28 of 56 cells, matrix 3 of 12, about 40 s left");
}

TEST(LiveText, IsShorterOnANarrowTerminalAndNothingOnOneThatIsTooNarrow) {
  EXPECT_EQ(live_text(half, 80), "28 of 56 cells, matrix 3 of 12, about 40 s left");
  EXPECT_EQ(live_text(half, 40), "28/56 cells, 3/12, 40 s left");
  EXPECT_EQ(live_text(half, 12), "40 s left");
  EXPECT_EQ(live_text(half, 9), "");
  for (std::size_t columns = 0; columns < 120; ++columns)
    EXPECT_LT(live_text(half, columns).size(), std::max<std::size_t>(columns, 1));
}

TEST(LiveText, LeavesOutWhatIsNotKnown) {
  Progress progress = half;
  progress.seconds_left.reset();
  EXPECT_EQ(live_text(progress, 80), "device_to_device_memcpy_write_ce, 28 of 56 cells, matrix 3 of 12");
  progress.cells = 0;
  EXPECT_EQ(live_text(progress, 80), "device_to_device_memcpy_write_ce, matrix 3 of 12");
  progress.seconds_left = 600;
  EXPECT_EQ(live_text(progress, 80), "device_to_device_memcpy_write_ce, matrix 3 of 12, about 10 min left");
}

/// A terminal of its own: `inside` is what a program has, and what it wrote there is read outside.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 80) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&outside_, &inside, nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal");
    ::fcntl(outside_, F_SETFL, O_NONBLOCK);
  }
  ~Terminal() {
    ::close(inside);
    ::close(outside_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::string text() {
    std::string out;
    std::array<char, 4096> piece{};
    for (ssize_t count = 0; (count = ::read(outside_, piece.data(), piece.size())) > 0;)
      out.append(piece.data(), static_cast<std::size_t>(count));
    return out;
  }

  int inside = -1;

 private:
  int outside_ = -1;
};

class Live : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    record.change([](Record& all) {
      MatrixResult& result = all.results.emplace_back();
      result.testcase = "write";
      result.shape({"gpu0", "gpu1"}, {"gpu0", "gpu1"});
      result.status(0, 1) = CellStatus::ok;
      result.status(1, 0) = CellStatus::not_run;
    });
  }

  Guarded<Record> record;
  Terminal terminal;
};

TEST_F(Live, IsDrawnOnATerminalAndGoneWhileSomebodyElseWrites) {
  LiveLine line(terminal.inside, terminal.inside);
  line.draw_if_due(record, 0);
  EXPECT_EQ(terminal.text(), "") << "nothing is measured yet";
  line.expect(2);
  line.draw_if_due(record, 0);
  EXPECT_EQ(terminal.text(), "\r\33[Kwrite, 1 of 2 cells, matrix 1 of 2");
  {
    const LiveLine::Hidden hidden(line);
    EXPECT_EQ(terminal.text(), "\r\33[K");
    line.expect(2);  // it is time again
    line.draw_if_due(record, 0);
    EXPECT_EQ(terminal.text(), "");
  }
  line.expect(2);
  line.draw_if_due(record, 0);
  EXPECT_NE(terminal.text(), "");
}

TEST_F(Live, IsDrawnNoMoreThanAFewTimesASecond) {
  LiveLine line(terminal.inside, terminal.inside);
  line.expect(1);
  const auto before = Clock::now();
  line.draw_if_due(record, 0);
  EXPECT_NE(terminal.text(), "");
  EXPECT_GE(line.next() - before, std::chrono::milliseconds(200));
}

TEST_F(Live, IsGoneWhenAllThatWasMeasuredIsPrinted) {
  LiveLine line(terminal.inside, terminal.inside);
  line.expect(1);
  line.draw_if_due(record, 0);
  EXPECT_NE(terminal.text(), "");
  line.expect(1);
  line.draw_if_due(record, 1);
  EXPECT_EQ(terminal.text(), "\r\33[K");
}

TEST_F(Live, IsSilentInAFileAPipeAndOnATerminalThatCannotEraseALine) {
  const std::filesystem::path folder = own_folder("live_line");
  std::filesystem::create_directories(folder);
  const int file = ::open((folder / "out").c_str(), O_RDWR | O_CREAT, 0600);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  for (const auto& [output, errors] : {std::pair{file, terminal.inside},
                                       {terminal.inside, file},
                                       {pipe[1], terminal.inside},
                                       {terminal.inside, pipe[1]}}) {
    LiveLine line(output, errors);
    line.expect(1);
    EXPECT_EQ(line.next(), Clock::time_point::max());
    line.draw_if_due(record, 0);
  }
  ::setenv("TERM", "dumb", 1);
  LiveLine line(terminal.inside, terminal.inside);
  line.expect(1);
  line.draw_if_due(record, 0);
  EXPECT_EQ(terminal.text(), "");
  EXPECT_EQ(std::filesystem::file_size(folder / "out"), 0u);
  for (const int end : {file, pipe[0], pipe[1]}) ::close(end);
  std::filesystem::remove_all(folder);
}

TEST_F(Live, DoesNotWaitForATerminalThatNobodyReads) {
  LiveLine line(terminal.inside, terminal.inside);
  for (int i = 0; i < 2000; ++i) {  // more than a terminal holds
    line.expect(1);
    line.draw_if_due(record, 0);
  }
  EXPECT_NE(terminal.text(), "");
}

TEST_F(Live, LeavesTheTablesOfARunAsTheyAre) {
  SupervisorSetup setup{.program = "p2p_matrix"};
  setup.output = setup.errors = terminal.inside;
  std::string text;
  {
    Supervisor supervisor(std::move(setup));
    supervisor.write_to(std::nullopt, 16);
    supervisor.record().change(
        [&](Record& all) { record.look([&](const Record& one) { all.results = one.results; }); });
    supervisor.expect(1);
    while (text.find("1 of 2 cells") == std::string::npos) {
      std::this_thread::yield();
      text += terminal.text();
    }
    supervisor.print("a table\n");
    supervisor.end(passed());
    text += terminal.text();
  }
  EXPECT_NE(text.find("\r\33[Ka table\r\n"), std::string::npos) << text;
  const auto result = text.rfind("Result: PASS");
  ASSERT_NE(result, std::string::npos);
  EXPECT_EQ(text.find("cells", result), std::string::npos) << "nothing is drawn below the last line";
}

}  // namespace
}  // namespace linkmatrix
