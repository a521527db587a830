#include <gtest/gtest.h>

#include "nbody/split.hpp"

namespace linkmatrix {
namespace {

TEST(Split, GivesEveryBodyToOnePart) {
  for (const std::uint64_t bodies : {256, 257, 1000, 4096, 100'003})
    for (const int parts : {1, 2, 3, 7, 8}) {
      const Split split(bodies, parts);
      std::uint64_t next = 0, least = bodies, most = 0;
      for (int part = 0; part < parts; ++part) {
        EXPECT_EQ(split.first(part), next) << bodies << " bodies, part " << part << " of " << parts;
        next += split.count(part);
        least = std::min(least, split.count(part)), most = std::max(most, split.count(part));
      }
      EXPECT_EQ(next, bodies);
      EXPECT_LE(most - least, 1U) << "parts differ by one body at most";
      EXPECT_LE(most, split.stride());
    }
}

TEST(Split, LaysPartsInWholeTiles) {
  const Split split(1000, 3);
  EXPECT_EQ(split.stride(), 512U);
  EXPECT_EQ(split.places(), 1536U);
  EXPECT_EQ(split.place_of(2), 1024U);
}

}  // namespace
}  // namespace linkmatrix
