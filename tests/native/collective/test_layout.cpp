#include <gtest/gtest.h>

#include "collective/layout.hpp"

namespace linkmatrix {
namespace {

Layout layout(Collective collective, std::uint64_t bytes, int ranks, ElementType type = ElementType::f32) {
  return layout_of({.collective = collective, .type = type, .bytes = bytes}, ranks);
}

// Sizes, counts and factors as nccl-tests 2.x prints them for 2 and 8 ranks (recorded, and doc/PERFORMANCE.md).
TEST(CollectiveLayout, CountsAsNcclTestsDoes) {
  EXPECT_EQ(layout(Collective::all_reduce, 1 << 20, 8).sent, 262144u);
  EXPECT_DOUBLE_EQ(layout(Collective::all_reduce, 1 << 20, 8).bus_factor, 2 * 7.0 / 8);
  EXPECT_EQ(layout(Collective::all_gather, 1 << 20, 2).part, 131072u);
  EXPECT_EQ(layout(Collective::all_gather, 1 << 20, 2).size_bytes, 1u << 20);
  EXPECT_DOUBLE_EQ(layout(Collective::reduce_scatter, 1 << 20, 8).bus_factor, 7.0 / 8);
  EXPECT_DOUBLE_EQ(layout(Collective::broadcast, 1 << 20, 8).bus_factor, 1);
  EXPECT_DOUBLE_EQ(layout(Collective::alltoall, 1 << 20, 2).bus_factor, 0.5);
  EXPECT_DOUBLE_EQ(layout(Collective::sendrecv, 1 << 20, 2).bus_factor, 1);
}

TEST(CollectiveLayout, GivesEveryRankPartsOf16Bytes) {
  for (const auto& [type, name] : Words<ElementType>::table)
    for (const int ranks : {2, 3, 7}) {
      const Layout found = layout(Collective::all_gather, 100000, ranks, type);
      EXPECT_EQ(found.part * bytes_of(type) % 16, 0u) << name;
      EXPECT_EQ(found.received, found.part * static_cast<std::uint64_t>(ranks)) << name;
      EXPECT_LE(found.size_bytes, 100000u) << name;
      EXPECT_GT(found.size_bytes + static_cast<std::uint64_t>(16 * ranks), 100000u) << name << ": no more is left out";
    }
}

TEST(CollectiveLayout, RefusesASizeThatLeavesARankWithoutAnElement) {
  EXPECT_THROW(layout(Collective::all_gather, 32, 4), BadInput);
  EXPECT_THROW(layout(Collective::all_reduce, 3, 2), BadInput);
  EXPECT_NO_THROW(layout(Collective::all_reduce, 4, 4));
}

TEST(Layout, LeavesEachRankAPartFromTheLeastBytesOn) {
  for (const auto& [collective, name] : Words<Collective>::table)
    for (const int ranks : {2, 65, 1024}) {
      CollectiveCase wanted;
      wanted.collective = collective;
      wanted.bytes = least_bytes(ranks);
      EXPECT_NO_THROW(layout_of(wanted, ranks)) << name << " of " << ranks;
    }
}

}  // namespace
}  // namespace linkmatrix
