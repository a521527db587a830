#include <gtest/gtest.h>

#include <algorithm>

#include "core/disturbances.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/machine_json.hpp"

namespace linkmatrix {
namespace {

OtherProcess on_device(const std::string& where, unsigned pid, const std::string& name, const std::string& user = "") {
  return {.where = where, .pid = pid, .name = name, .user = user, .bytes = {}, .seconds = {}, .on_device = true};
}

OtherProcess on_node(const std::string& node, unsigned pid, double seconds) {
  return {.where = node, .pid = pid, .name = "hog", .user = "bob", .bytes = {}, .seconds = seconds};
}

/// A node of ten cores for a second, of which the run used one core, and other processes so many.
Activity with_others(double used, std::vector<OtherProcess> processes = {}) {
  Activity found;
  found.seconds = 1;
  found.nodes = {{.node = "n1", .cores = 10, .busy = 1.0 + used, .own_busy = 1.0}};
  found.processes = std::move(processes);
  return found;
}

std::vector<Disturbance> decided(Activity difference) {
  decide_disturbances(difference);
  return difference.disturbances;
}

TEST(Disturbances, AreNoneWhereTheRunIsAlone) {
  Activity alone = with_others(0);
  alone.uses = {{"cpu0", "cpu", 1.0, 1.0}, {"n1", "net_out", 5e9, 5e9, "eth0", 10e9}};
  EXPECT_TRUE(decided(alone).empty());
  EXPECT_FALSE(sentence_of(alone));
}

TEST(Disturbances, AreAllContextsOfOtherProcessesByDevice) {
  Activity shared =
      with_others(0, {on_device("gpu0", 7, "hog", "bob"), on_device("gpu1", 8, "x"), on_device("gpu0", 9, "")});
  const auto found = decided(shared);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, DisturbanceKind::context);
  EXPECT_EQ(found[0].node + " " + found[0].where, "n1 gpu0") << "a process without a name disturbs too";
  EXPECT_EQ(found[0].pids, (std::vector<unsigned>{7, 9}));
  EXPECT_EQ(found[1].where, "gpu1");
  decide_disturbances(shared);
  const std::string sentence = *sentence_of(shared);
  EXPECT_NE(sentence.find("pid 7 (hog, user bob), pid 9 (unnamed) have a context on gpu0"), std::string::npos)
      << sentence;
}

TEST(Disturbances, OfAProcessThatTheDriverDoesNotListHaveNoPid) {
  Activity shared = with_others(0, {on_device("gpu0", 0, "")});
  decide_disturbances(shared);
  ASSERT_EQ(shared.disturbances.size(), 1u);
  EXPECT_EQ(shared.disturbances[0].where, "gpu0");
  EXPECT_TRUE(shared.disturbances[0].pids.empty());
  EXPECT_EQ(sentence_of(shared), "an unnamed process has a context on gpu0");
  shared.processes.push_back(on_device("gpu0", 7, "hog", "bob"));
  ASSERT_EQ(decided(shared).size(), 1u);
  EXPECT_EQ(decided(shared)[0].pids, std::vector<unsigned>{7});
  add_memory_disturbance(shared, "gpu0");
  EXPECT_EQ(shared.disturbances.back().pids, std::vector<unsigned>{7});
}

TEST(Disturbances, OfRanksAreOfTheirNodes) {
  Activity ranks;
  ranks.nodes = {{.node = "n1"}, {.node = "n2"}};
  ranks.processes = {on_device("n2:gpu0", 7, "hog")};
  ASSERT_EQ(decided(ranks).size(), 1u);
  EXPECT_EQ(decided(ranks)[0].node, "n2");
}

TEST(Disturbances, OfCoresBeginAboveTwoFifthsOfACoreOfALargeNode) {
  EXPECT_TRUE(decided(with_others(0.4)).empty());
  const auto found = decided(with_others(1.5, {on_node("n1", 12, 1.2), on_node("n1", 13, 0.1), on_node("n2", 14, 1)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, DisturbanceKind::cpu);
  EXPECT_EQ(found[0].where, "n1");
  EXPECT_DOUBLE_EQ(*found[0].share, 0.15);
  EXPECT_EQ(found[0].pids, std::vector<unsigned>{12}) << "a process that used little is not named";
  Activity large = with_others(1, {on_node("n1", 12, 1)});
  large.nodes[0].cores = 128;
  ASSERT_EQ(decided(large).size(), 1u) << "as a process that copies memory, or runs on a hyper-thread of a rank's core";
  EXPECT_DOUBLE_EQ(*decided(large)[0].share, 1.0 / 128);
}

TEST(Disturbances, OfCoresBeginAboveATenthOfASmallNode) {
  const auto others = [](double used) {
    Activity small = with_others(used);
    small.nodes[0].cores = 2;
    return decided(small).size();
  };
  EXPECT_EQ(others(0.19), 0u);
  EXPECT_EQ(others(0.21), 1u);
}

TEST(Disturbances, OfCoresCountProcessesThatNoPollLists) {
  const auto hidden = decided(with_others(1.5));
  ASSERT_EQ(hidden.size(), 1u);
  EXPECT_TRUE(hidden[0].pids.empty());
  Activity listed = with_others(0, {on_node("n1", 12, 3)});
  listed.nodes[0].listed = 3, listed.nodes[0].own_busy.reset();
  EXPECT_EQ(decided(listed).size(), 1u) << "nobody knows what the run itself used";
}

TEST(Disturbances, OfCoresLeaveOutTheKernelAndRanksInContainersOfTheirOwn) {
  Activity kernel = with_others(1.5);
  kernel.nodes[0].kernel = 1.2;
  EXPECT_TRUE(decided(kernel).empty());
  Activity ranks = with_others(1.5);
  ranks.uses = {{"n1:rank0", "cpu", 1.2, 1.2}, {"n1:rank1", "cpu", 1.2, 1.2}};
  EXPECT_TRUE(decided(ranks).empty()) << "rank 0 does not see the process of rank 1";
  Activity brief = with_others(0.04);
  brief.seconds = 0.02;
  EXPECT_TRUE(decided(brief).empty()) << "a few ticks of the kernel's clock";
}

TEST(Disturbances, OfAdaptersBeginAboveATenthOfWhatTheyCarry) {
  const auto moved = [](double others, double rate, double own = 1e9) {
    Activity found = with_others(0);
    found.uses = {{"n1", "net_out", own + others, own, "eth0", rate}, {"n1", "net_in", own, own, "eth0", rate}};
    return decided(found);
  };
  EXPECT_TRUE(moved(0.9e9, 10e9).empty());
  ASSERT_EQ(moved(1.1e9, 10e9).size(), 1u) << "once, of both directions";
  EXPECT_EQ(moved(1.1e9, 10e9)[0].kind, DisturbanceKind::adapter);
  EXPECT_EQ(moved(1.1e9, 10e9)[0].where, "eth0");
  EXPECT_NEAR(*moved(1.1e9, 10e9)[0].share, 0.11, 1e-9);
  EXPECT_TRUE(moved(0.09e9, 0, 0.1e9).empty()) << "of an unknown rate, as heads of small messages";
  EXPECT_TRUE(moved(0.5e9, 0, 10e9).empty());
  ASSERT_EQ(moved(0.5e9, 0).size(), 1u);
  EXPECT_FALSE(moved(0.5e9, 0)[0].share);
}

TEST(Disturbances, OfMemoryNameWhoHoldsIt) {
  Activity held = with_others(0, {on_device("gpu1", 7154, "hog", "root"), on_device("gpu0", 9, "x")});
  add_memory_disturbance(held, "gpu1");
  ASSERT_EQ(held.disturbances.size(), 1u);
  EXPECT_EQ(held.disturbances[0].kind, DisturbanceKind::memory);
  EXPECT_EQ(held.disturbances[0].node, "n1");
  EXPECT_EQ(held.disturbances[0].pids, std::vector<unsigned>{7154});
  EXPECT_EQ(sentence_of(held), "pid 7154 (hog, user root) holds the memory of gpu1");
}

TEST(IgnoredProcesses, AreMatchedByNameAndUser) {
  const auto ignored = parse_ignored_processes("nv-hostengine:root,dcgm-exporter-long-name:*,*:5012");
  ASSERT_EQ(ignored.size(), 3u);
  const auto is = [&](const std::string& name, const std::string& user) {
    return std::ranges::any_of(
        ignored, [&](const IgnoredProcess& one) { return one.matches(on_device("gpu0", 1, name, user)); });
  };
  EXPECT_TRUE(is("nv-hostengine", "root"));
  EXPECT_FALSE(is("nv-hostengine", "bob"));
  EXPECT_FALSE(is("nv-hostengine2", "root"));
  EXPECT_TRUE(is("dcgm-exporter-l", "x")) << "the kernel keeps 15 letters of a name";
  EXPECT_FALSE(is("dcgm-exporter", "x"));
  EXPECT_TRUE(is("python3", "uid 5012"));
  EXPECT_FALSE(is("", "")) << "a process that is not readable is nobody's";
  EXPECT_TRUE(parse_ignored_processes("*:*").front().matches(on_device("gpu0", 1, "")));
}

TEST(IgnoredProcesses, AreNamedInFullOrRefused) {
  for (const char* wrong : {"", "hog", "hog:", ":root", "a:b,", "a:b,,c:d"})
    EXPECT_THROW(parse_ignored_processes(wrong), BadInput) << wrong;
}

TEST(IgnoredProcesses, DisturbNothingAndAreListed) {
  Activity before = with_others(0), after = with_others(0);
  before.seconds = 1, after.seconds = 2;
  after.nodes[0].busy = *before.nodes[0].busy + 3.3, after.nodes[0].own_busy = *before.nodes[0].own_busy + 1;
  after.processes = {on_device("gpu0", 7, "dcgm", "root"), on_device("gpu0", 8, "hog"), on_node("n1", 9, 2)};
  before.processes = {on_node("n1", 9, 0)};
  const auto found = [&](const std::string& ignored) {
    Activity first = before, second = after;
    for (Activity* poll : {&first, &second}) mark_ignored(*poll, parse_ignored_processes(ignored));
    Activity difference = between(first, second);
    decide_disturbances(difference);
    return difference;
  };
  EXPECT_EQ(found("nobody:x").disturbances.size(), 2u);
  const Activity without = found("dcgm:root,hog:bob");
  ASSERT_EQ(without.disturbances.size(), 1u) << "of 2.3 s of cores 2 are taken off";
  EXPECT_EQ(without.disturbances[0].pids, std::vector<unsigned>{8});
  EXPECT_EQ(without.processes.size(), 1u);
  ASSERT_EQ(without.ignored.size(), 2u);
  EXPECT_EQ(without.ignored[0].name, "dcgm");
  EXPECT_DOUBLE_EQ(without.ignored[1].seconds.value(), 2);
}

TEST(IgnoredProcesses, AreAlsoThoseThatNoPollListsWhereAllAreIgnored) {
  Activity before = with_others(0), after = with_others(0);
  before.seconds = 1, after.seconds = 2;
  after.nodes[0].busy = 9, after.nodes[0].own_busy = 2;
  const auto found = [&](const std::string& ignored) {
    Activity first = before, second = after;
    for (Activity* poll : {&first, &second}) mark_ignored(*poll, parse_ignored_processes(ignored));
    return decided(between(first, second)).size();
  };
  EXPECT_EQ(found("*:root"), 1u);
  EXPECT_EQ(found("*:*"), 0u);
}

TEST(IgnoredProcesses, OfTheDriverHaveNoNameAndAreOnlyIgnoredWhereAllAre) {
  const auto found = [](const std::string& ignored) {
    Activity poll = with_others(0, {on_device("gpu0", 0, "")});
    mark_ignored(poll, parse_ignored_processes(ignored));
    return decided(single_poll_usage(poll)).size();
  };
  EXPECT_EQ(found("hog:*,*:root"), 1u);
  EXPECT_EQ(found("*:*"), 0u);
}

TEST(Disturbances, AreWrittenToTheRecord) {
  Activity shared = with_others(0, {on_device("gpu0", 7, "", "")});
  shared.ignored = {on_device("gpu0", 9, "dcgm", "root")};
  decide_disturbances(shared);
  JsonWriter w;
  w.begin_object();
  write_others(w, shared);
  w.end_object();
  const std::string text = w.text();
  EXPECT_NE(text.find(R"("disturbances":[{"node":"n1","kind":"context","where":"gpu0","share":null,"pids":[7]}])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("ignored":[{"where":"gpu0","on":"device","pid":9,"name":"dcgm","user":"root")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("pid":7,"name":null,"user":null)"), std::string::npos) << text;
}

}  // namespace
}  // namespace linkmatrix
