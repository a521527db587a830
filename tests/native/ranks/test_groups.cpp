#include <gtest/gtest.h>

#include "core/error.hpp"
#include "ranks/groups.hpp"

namespace linkmatrix::ranks {
namespace {

using Hosts = std::vector<std::string>;

TEST(Groups, AreReadFromLinesOfTheirOwnAndFromSlurm) {
  const auto own = parse_groups("# leaves\nleaf1: n[1-2],m07\n\n leaf2 : n3 # the last\n");
  EXPECT_EQ(own.at("n1") + own.at("n2") + own.at("m07") + own.at("n3"), "leaf1leaf1leaf1leaf2");
  const auto conf =
      parse_groups("SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=top Switches=s[0-1]\n");
  EXPECT_EQ(conf.at("n2") + conf.at("n3"), "s0s1");
  const auto shown = parse_groups(
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4] Switches=\n"
      "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n");
  EXPECT_EQ(shown, conf);
}

TEST(Groups, AreSlurmsBlocks) {
  const auto shown = parse_groups(
      "BlockName=rack1 BlockIndex=0 Nodes=a[01-18] BlockSize=18\nBlockName=rack2 BlockIndex=1 Nodes=b[01-18] "
      "BlockSize=18\nAggregatedBlock=rack[1-2] BlockIndex=2 Nodes=a[01-18],b[01-18] BlockSize=36\n");
  EXPECT_EQ(shown.size(), 36u);
  EXPECT_EQ(shown.at("a07") + shown.at("b18"), "rack1rack2");
  EXPECT_EQ(parse_groups("BlockName=b1 BlockIndex=0 Nodes=(null) BlockSize=1\nBlockName=b2 Nodes=n2\n").size(), 1u);
  EXPECT_EQ(parse_groups("BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\nBlockSizes=1,2\n").at("n2"), "b2");
}

TEST(Groups, ListsOfHostsAreExpandedAsSlurmDoes) {
  EXPECT_EQ(expanded_hosts("n[08-11]"), (Hosts{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expanded_hosts("r[1-2]n[3,5]-ib"), (Hosts{"r1n3-ib", "r1n5-ib", "r2n3-ib", "r2n5-ib"}));
  EXPECT_EQ(expanded_hosts("a,b"), (Hosts{"a", "b"}));
}

TEST(Groups, AListIsRefusedBeforeItNeedsAllMemoryOrAllOfTheStack) {
  std::string brackets = "n";
  for (int i = 0; i < 300'000; ++i) brackets += "[1]";
  for (const std::string& list : {brackets, std::string(100'000, 'n') + "[1-1000000]", std::string(321, 'n')}) {
    try {
      expanded_hosts(list);
      ADD_FAILURE() << list.substr(0, 20);
    } catch (const BadInput& refusal) {
      EXPECT_LT(std::string_view(refusal.what()).size(), 200u);
    }
  }
  EXPECT_EQ(expanded_hosts(std::string(319, 'n') + "[7]"), (Hosts{std::string(319, 'n') + "7"}));
}

TEST(Groups, WhatIsNoListOrNoGroupIsRefusedWithItsLine) {
  for (const char* text : {"leaf1", "leaf1: n[1-", "leaf1: n[3-1]", "leaf1: n[1-2]]", "leaf1: n[x]", "leaf1:", ": n1",
                           "leaf1: n[1-9999999999]", "leaf1: n[]", "SwitchName= Nodes=n1", "leaf1: ,"})
    try {
      parse_groups(std::string("\n") + text);
      ADD_FAILURE() << text;
    } catch (const BadInput& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("line 2: ")) << error.what();
    }
  EXPECT_THROW(parse_groups(""), BadInput);
  EXPECT_THROW(parse_groups("SwitchName=top Switches=s[0-1]"), BadInput);
  EXPECT_THROW(parse_groups("a: n1\nb: n1"), BadInput);
  EXPECT_THROW(read_groups("/nowhere/at/all"), BadInput);
  EXPECT_THROW(read_groups("/"), BadInput);
}

TEST(Groups, EachNodeOfTheJobHasOneAndTheyAreSeveral) {
  const std::map<std::string, std::string> groups{{"n1", "a"}, {"n2", "b"}};
  EXPECT_EQ(groups_of({"n2", "n1.cluster"}, groups), (Hosts{"b", "a"}));
  EXPECT_THROW(groups_of({"n1", "n3"}, groups), BadInput);
  EXPECT_THROW(groups_of({"n1", "n1"}, groups), BadInput);
}

}  // namespace
}  // namespace linkmatrix::ranks
