#include <gtest/gtest.h>

#include "../parsed_options.hpp"
#include "collective/collective_table.hpp"
#include "collective/options.hpp"

namespace linkmatrix {
namespace {

CollectiveOptions parsed(std::vector<std::string> words) {
  return linkmatrix::parsed(parse_collective_options, std::move(words));
}

TEST(CollectiveOptions, NameTestCasesAsNcclTestsNamesItsPrograms) {
  const auto named = parsed({"--testcase", "all_reduce_perf,all_reduce_perf_tree"}).named;
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].algorithm, "");
  EXPECT_EQ(named[1].algorithm, "Tree");
}

TEST(CollectiveOptions, RefuseWhatIsNotThereWithTheNearestName) {
  EXPECT_THROW(parsed({"--testcase", "all_reduce"}), BadInput);
  EXPECT_THROW(parsed({"--testcase", "alltoall_perf_ring"}), BadInput) << "made of sends";
  EXPECT_THROW(parsed({"--testcase", "all_reduce_perf,all_reduce_perf"}), BadInput);
  EXPECT_THROW(parsed({"--suite", "nonsense"}), BadInput);
  EXPECT_THROW(parsed({"--suite", "quick", "--testcase", "all_reduce_perf"}), BadInput);
  EXPECT_THROW(parsed({"--size", "1MiB", "--sweep", "1KiB:1MiB"}), BadInput);
  EXPECT_THROW(parsed({"--type", "float16"}), BadInput);
  EXPECT_THROW(parsed({"--graph", "--blocking"}), BadInput);
}

TEST(CollectiveOptions, ThatDoNothingInARunAreRefused) {
  const auto refused = [](std::vector<std::string> words, const CollectiveScope& run) {
    EXPECT_THROW(refuse_unused(parsed(std::move(words)), run), BadInput);
  };
  const CollectiveScope host{.has_ranks = true, .memory = Memory::host, .any_reduces = true, .any_has_root = false};
  refused({"--graph"}, host);
  refused({"--blocking"}, host);
  refused({"--huge-pages", "off"}, {.has_ranks = true, .memory = Memory::device});
  refused({"--devices", "0,1"}, host);
  refused({"--root", "1"}, host);
  refused({"--asked-by", "x"}, host);
  refused({"--reduction", "min"}, {.any_has_root = true});
  refused({"--memory", "host"}, {.has_ranks = false});
  EXPECT_NO_THROW(refuse_unused(parsed({"--reduction", "min", "--type", "double"}), host));
}

TEST(CollectiveTable, IsInTheLayoutOfNcclTests) {
  const CollectiveCase wanted{.bytes = 1 << 20};
  const CollectiveLine line{wanted, layout_of(wanted, 2), CollectiveFigures{23.7, 44.21, 44.21, 0}, std::nullopt};
  const std::string text = collective_table("all_reduce_perf", {line});
  EXPECT_NE(text.find("     1048576        262144     float     sum      -1     23.70    44.21    44.21       0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("N/A"), std::string::npos) << "what has no in-place way says so";
}

TEST(CollectiveSetting, IsWhatMakesAFigureAnotherOne) {
  EXPECT_EQ(setting_of({}), "");
  CollectiveCase wanted{
      .collective = Collective::reduce, .type = ElementType::f64, .reduction = Reduction::max, .root = 1};
  EXPECT_EQ(setting_of(wanted), "double, max, root 1");
  wanted.collective = Collective::all_reduce, wanted.launch = Launch::graph;
  EXPECT_EQ(setting_of(wanted), "double, max, graph") << "it has no root";
  wanted.launch = Launch::blocking;
  EXPECT_EQ(setting_of(wanted), "double, max, blocking");
}

}  // namespace
}  // namespace linkmatrix
