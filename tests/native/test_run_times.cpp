#include <gtest/gtest.h>

#include <thread>

#include "core/run_times.hpp"

namespace linkmatrix {
namespace {

double milliseconds_of(RunPhase phase) {
  const std::string text = timing_text(), name = "\n" + std::string(word(phase)) + " ";
  return std::stod(text.substr(text.find(name) + name.size()));
}

void sleep_5_ms() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

TEST(RunTimes, TheTimeOfAnInnerPhaseIsNoTimeOfTheOuterPhase) {
  const double calibration = milliseconds_of(RunPhase::calibration), topology = milliseconds_of(RunPhase::topology);
  {
    const InPhase outer(RunPhase::topology);
    const InPhase inner(RunPhase::calibration);
    sleep_5_ms();
  }
  EXPECT_GE(milliseconds_of(RunPhase::calibration), calibration + 5);
  EXPECT_LT(milliseconds_of(RunPhase::topology) - topology, milliseconds_of(RunPhase::calibration) - calibration);
}

TEST(RunTimes, APhaseLastsUntilTheNextOneBegins) {
  const double before = milliseconds_of(RunPhase::exit);
  {
    const InPhase outer(RunPhase::record);
    begin_phase(RunPhase::exit);
    sleep_5_ms();
  }
  EXPECT_GE(milliseconds_of(RunPhase::exit), before + 5);
}

TEST(RunTimes, OtherThreadsDoNotCount) {
  const double before = milliseconds_of(RunPhase::verification);
  std::thread([] {
    const InPhase phase(RunPhase::verification);
    sleep_5_ms();
  }).join();
  EXPECT_EQ(milliseconds_of(RunPhase::verification), before);
}

TEST(RunTimes, TheTableHasEachPhaseAndTheTotal) {
  const std::string text = timing_text();
  for (const auto& [phase, name] : Words<RunPhase>::table)
    EXPECT_NE(text.find("\n" + std::string(name) + " "), std::string::npos) << name;
  EXPECT_NE(text.find("\ntotal "), std::string::npos);
}

}  // namespace
}  // namespace linkmatrix
