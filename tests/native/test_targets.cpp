#include <gtest/gtest.h>

#include "measured_matrix.hpp"

namespace linkmatrix {
namespace {

std::map<std::string, double> targets_of(const MeasureOptions& options, Memory memory, const std::string& link_class,
                                         Metric metric = Metric::bandwidth) {
  Guarded<Record> record;
  record.change([&](Record& content) {
    MatrixResult& result = content.results.emplace_back();
    result.metric = metric;
    result.memory = memory;
    result.set_labels({"a", "b"}, {"a", "b"});
    result.link_class = Matrix<std::string>(2, 2, "X");
    result.link_class(0, 1) = result.link_class(1, 0) = link_class;
  });
  ResultStore store(record);
  ScriptedSampler sampler([](const CellIndex&, std::size_t) { return 10.0; });
  const ListedRounds rounds({{{0, 1}}, {{1, 0}}});
  measure(sampler, {.rounds = rounds}, options, Deadline::never(), store);
  return record.read([](const Record& content) { return content.results.front().targets; });
}

using Targets = std::map<std::string, double>;

TEST(Targets, FollowTheLinkClass) {
  EXPECT_EQ(targets_of({}, Memory::device, "NV18"), (Targets{{"NV18", 0.0025}}));
  EXPECT_EQ(targets_of({}, Memory::device, "NV18", Metric::latency), (Targets{{"NV18", 0.01}}));
  EXPECT_EQ(targets_of({}, Memory::host, "HOST"), (Targets{{"HOST", 0.025}}));
  EXPECT_EQ(targets_of({.in_cpu_memory = true}, Memory::device, "CORE"), (Targets{{"CORE", 0.03}}));
  EXPECT_EQ(targets_of({.in_cpu_memory = true}, Memory::host, "NODE"), (Targets{{"NODE", 0.03}}));
  EXPECT_EQ(targets_of({.in_cpu_memory = true}, Memory::host, "NET"), (Targets{{"NET", 0.01}}));
}

TEST(Targets, AGivenTargetAppliesToAllLinkClasses) {
  MeasureOptions options{.is_target_given = true, .in_cpu_memory = true};
  options.stop.target = 0.001;
  for (const Metric metric : {Metric::bandwidth, Metric::latency})
    EXPECT_EQ(targets_of(options, Memory::host, "NODE", metric), (Targets{{"NODE", 0.001}}));
}

TEST(Targets, ACellWithinTheTargetOfItsClassHasConverged) {
  const auto converged = [](bool in_cpu_memory) {
    int sample = 0;
    ScriptedSampler sampler([](const CellIndex&, std::size_t) { return 10.0; });
    sampler.script = [&](const CellIndex&, const SampleRule&, Sampled& answer) {
      for (Sample& one : answer.samples) one.whole.end *= 1 + 0.02 * (++sample % 2);  // ± 1 %
    };
    Guarded<Record> record;
    record.change([](Record& content) {
      MatrixResult& result = content.results.emplace_back();
      result.set_labels({"a", "b"}, {"a", "b"});
      result.link_class = Matrix<std::string>(2, 2, "CORE");
    });
    ResultStore store(record);
    const ListedRounds rounds({{{0, 1}}});
    measure(sampler, {.rounds = rounds}, {.in_cpu_memory = in_cpu_memory}, Deadline::never(), store);
    return record.read([](const Record& content) { return *content.results.front().converged(0, 1); });
  };
  EXPECT_TRUE(converged(true));
  EXPECT_FALSE(converged(false));
}

}  // namespace
}  // namespace linkmatrix
