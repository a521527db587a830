#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "collective/expected.hpp"

namespace linkmatrix {
namespace {

using Buffers = std::vector<std::vector<double>>;  // by rank

Buffers sent_by_all(const Layout& layout, const Expectation& e) {
  Buffers sent(static_cast<std::size_t>(e.ranks));
  for (int rank = 0; rank < e.ranks; ++rank)
    for (std::uint64_t i = 0; i < layout.sent; ++i)
      sent[static_cast<std::size_t>(rank)].push_back(static_cast<double>(sent_element(e, rank, i)));
  return sent;
}

double reduced(Reduction op, const Buffers& sent, std::size_t at) {
  double value = sent[0][at];
  for (std::size_t r = 1; r < sent.size(); ++r) {
    const double next = sent[r][at];
    const std::map<Reduction, double> results{{Reduction::sum, value + next},
                                              {Reduction::avg, value + next},
                                              {Reduction::prod, value * next},
                                              {Reduction::min, std::min(value, next)},
                                              {Reduction::max, std::max(value, next)}};
    value = results.at(op);
  }
  return op == Reduction::avg ? value / static_cast<double>(sent.size()) : value;
}

/// Returns the content of each rank after the collective, as the MPI standard defines it.
Buffers carried_out(const CollectiveCase& wanted, const Layout& layout, const Buffers& sent) {
  const std::size_t n = sent.size(), part = layout.part, root = static_cast<std::size_t>(wanted.root);
  Buffers got(n);
  for (std::size_t rank = 0; rank < n; ++rank)
    for (std::size_t i = 0; i < received_elements(wanted, layout, static_cast<int>(rank)); ++i) {
      double value = 0;
      switch (wanted.collective) {
        case Collective::all_reduce:
        case Collective::reduce:
          value = reduced(wanted.reduction, sent, i);
          break;
        case Collective::reduce_scatter:
          value = reduced(wanted.reduction, sent, rank * part + i);
          break;
        case Collective::all_gather:
        case Collective::gather:
          value = sent[i / part][i % part];
          break;
        case Collective::broadcast:
          value = sent[root][i];
          break;
        case Collective::scatter:
          value = sent[root][rank * part + i];
          break;
        case Collective::alltoall:
          value = sent[i / part][rank * part + i % part];
          break;
        case Collective::sendrecv:
          value = sent[(rank + n - 1) % n][i];
          break;
        case Collective::send:
          value = sent[0][i];  // to rank 1
          break;
      }
      got[rank].push_back(value);
    }
  return got;
}

TEST(ExpectedElements, AreWhatTheCollectiveIsDefinedToDo) {
  for (const auto& [collective, name] : Words<Collective>::table)
    for (const auto& [reduction, word] : Words<Reduction>::table)
      for (const int ranks : {2, 3, 8}) {
        const CollectiveCase wanted{.collective = collective, .reduction = reduction, .bytes = 4096, .root = ranks - 1};
        const Layout layout = layout_of(wanted, ranks);
        const Expectation e = expectation_of(wanted, layout, ranks);
        const Buffers got = carried_out(wanted, layout, sent_by_all(layout, e));
        for (int rank = 0; rank < ranks; ++rank)
          for (std::size_t i = 0; i < got[static_cast<std::size_t>(rank)].size(); ++i)
            ASSERT_EQ(expected_element(e, rank, i), got[static_cast<std::size_t>(rank)][i])
                << name << ' ' << word << ", rank " << rank << " of " << ranks << ", element " << i;
      }
}

TEST(ExpectedElements, AreWholeNumbersThatTheTypeHolds) {
  for (const auto& [type, name] : Words<ElementType>::table)
    for (const auto& [reduction, word] : Words<Reduction>::table)
      for (const int ranks : {2, 8, 64, 1000}) {
        const CollectiveCase wanted{.type = type, .reduction = reduction, .bytes = 64 * bytes_of(type)};
        const Expectation e = expectation_of(wanted, layout_of(wanted, ranks), ranks);
        for (std::uint64_t i = 0; i < 64; ++i) {
          const double sum = expected_element(e, 0, i) * (reduction == Reduction::avg ? ranks : 1);
          EXPECT_NEAR(sum, std::round(sum), 1e-6) << name << ' ' << word;
          EXPECT_LE(sum, static_cast<double>(exact_limit(type)) + 1e-6) << name << ' ' << word << ' ' << ranks;
        }
      }
}

TEST(ExpectedElements, DifferFromThoseOfAnotherPlaceAndRank) {
  const CollectiveCase wanted{.collective = Collective::all_gather, .type = ElementType::f16, .bytes = 65536};
  const Layout layout = layout_of(wanted, 4);
  const Expectation e = expectation_of(wanted, layout, 4);
  std::uint64_t same_place = 0, same_rank = 0;
  for (std::uint64_t i = 0; i + 1 < layout.part; ++i) {
    same_place += sent_element(e, 0, i) == sent_element(e, 0, i + 1);
    same_rank += sent_element(e, 0, i) == sent_element(e, 1, i);
  }
  EXPECT_LT(same_place, layout.part / 100);
  EXPECT_LT(same_rank, layout.part / 100);
}

TEST(ExpectedElements, MayBeOffForAveragesOnly) {
  EXPECT_EQ(tolerance_of({.reduction = Reduction::sum}, 8), 0);
  EXPECT_EQ(tolerance_of({.collective = Collective::alltoall, .reduction = Reduction::avg}, 8), 0);
  EXPECT_GT(tolerance_of({.type = ElementType::f16, .reduction = Reduction::avg}, 6), 0);
  EXPECT_LT(tolerance_of({.type = ElementType::f32, .reduction = Reduction::avg}, 6), 1e-5);
}

TEST(ExpectedElements, AreAveragesThatAreExactOfWholeNumbersAndBetweenAPowerOf2OfRanks) {
  EXPECT_EQ(tolerance_of({.type = ElementType::u8, .reduction = Reduction::avg}, 6), 0);
  EXPECT_EQ(tolerance_of({.type = ElementType::f8e5m2, .reduction = Reduction::avg}, 8), 0);
}

TEST(ExpectedElements, OfADoubleAreComparedToItsLastBit) {
  EXPECT_FALSE(is_wrong(5.0, 5, 0));
  EXPECT_TRUE(is_wrong(std::nextafter(5.0, 6.0), 5, 0));
  EXPECT_TRUE(is_wrong(std::int64_t{5} | std::int64_t{1} << 40, 5, 0));
  EXPECT_TRUE(is_wrong(std::nan(""), 5, 1));
  EXPECT_TRUE(is_wrong(0.0, 5, 0.5));
  EXPECT_FALSE(is_wrong(5.1F, 5, 0.05));
}

/// Returns the number of elements whose product changes if another rank's element replaces this rank's element.
std::uint64_t differing(int rank, int instead, const Expectation& e, std::uint64_t count) {
  std::uint64_t differ = 0;
  for (std::uint64_t i = 0; i < count; ++i) differ += sent_element(e, rank, i) != sent_element(e, instead, i);
  return differ;
}

TEST(ExpectedElements, OfASumShowThatAnyOneRankIsMissingHoweverFewTheTypeCounts) {
  for (const ElementType type : {ElementType::f8e5m2, ElementType::f8e4m3, ElementType::i8})
    for (const int ranks : {2, 16, 200}) {
      const CollectiveCase wanted{.type = type, .bytes = 65536};
      const Expectation e = expectation_of(wanted, layout_of(wanted, ranks), ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        std::uint64_t brings_something = 0;
        for (std::uint64_t i = 0; i < 4096; ++i) brings_something += sent_element(e, rank, i) != 0;
        ASSERT_GT(brings_something, 0U) << word(type) << ", rank " << rank << " of " << ranks;
      }
    }
}

TEST(ExpectedElements, OfAProductShowThatOneRankCountsInAnothersPlace) {
  for (const int ranks : {2, 3, 8}) {
    const CollectiveCase wanted{.reduction = Reduction::prod, .bytes = 4096};
    const Expectation e = expectation_of(wanted, layout_of(wanted, ranks), ranks);
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_GE(differing(rank, (rank + 1) % ranks, e, 1000), 1000U / static_cast<unsigned>(ranks + 1) / 2);
  }
}

TEST(Expected, AnAverageOfDoublesMayBeOffByARoundingOfADouble) {
  const CollectiveCase wanted{.type = ElementType::f64, .reduction = Reduction::avg};
  const double expected = 1.0 / 3, tolerance = tolerance_of(wanted, 3);
  EXPECT_FALSE(is_wrong(std::nextafter(expected, 1.0), expected, tolerance));
  EXPECT_TRUE(is_wrong(expected * (1 + 1e-9), expected, tolerance)) << "a wrong bit in the lower half is one";
}

TEST(Expected, NothingIsComparedWhereNothingWrongWouldBeSeen) {
  CollectiveCase wanted{.type = ElementType::f8e5m2, .reduction = Reduction::avg};
  EXPECT_FALSE(cannot_detect_errors(wanted, 8)) << "a power of 2 divides exactly";
  EXPECT_TRUE(cannot_detect_errors(wanted, 7));
  wanted.excluded.add(0);
  EXPECT_TRUE(cannot_detect_errors(wanted, 8)) << "7 take part";
  EXPECT_FALSE(cannot_detect_errors(wanted, 9)) << "8 take part";
}

}  // namespace
}  // namespace linkmatrix
