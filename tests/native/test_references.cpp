#include <gtest/gtest.h>

#include <fstream>

#include "core/error.hpp"
#include "measure/references.hpp"
#include "own_folder.hpp"

namespace linkmatrix {
namespace {

MatrixDescription matrix(std::string testcase, std::vector<std::string> labels) {
  MatrixDescription shape;
  shape.testcase = std::move(testcase);
  shape.unit = "GB/s";
  shape.rows = shape.columns = std::move(labels);
  shape.link_class = {shape.rows.size(), shape.rows.size(), "NET"};
  return shape;
}

std::string refusal(std::string_view text) {
  try {
    References::parse(text);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(References, ACellHasItsOwnElseThatOfItsClassAndNothingWithoutEither) {
  const auto known = References::parse("# a site's\n\nt\tgpu0->gpu1\t390.5\tGB/s\nt\tcell[NET]\t40\tGB/s\n");
  const auto values = known.values_for(matrix("t", {"gpu0", "gpu1"}));
  EXPECT_EQ(values(0, 1), 390.5);
  EXPECT_EQ(values(1, 0), 40);
  EXPECT_EQ(known.values_for(matrix("other", {"gpu0", "gpu1"}))(0, 1), std::nullopt);
  MatrixDescription of_another_class = matrix("t", {"gpu0", "gpu1"});
  of_another_class.link_class(1, 0) = "SYS";
  EXPECT_EQ(known.values_for(of_another_class)(1, 0), std::nullopt);
}

TEST(References, OneInAnotherUnitIsNone) {
  EXPECT_EQ(References::parse("t\tcell[NET]\t40\tus").values_for(matrix("t", {"a", "b"}))(0, 1), std::nullopt);
}

TEST(References, EndpointsAreCalledByTheirOrderWhereAJobGetsOtherNodesEachTime) {
  const auto known = References::parse(
      "r\tgpu0->gpu1\t1\tGB/s\n"
      "r\trank0->rank2\t2\tGB/s\n"
      "node_to_node_x\tnode0->node1\t3\tGB/s\n");
  EXPECT_EQ(known.values_for(matrix("r", {"n17:gpu0", "n17:gpu1"}))(0, 1), 1) << "all on one node";
  EXPECT_EQ(known.values_for(matrix("r", {"n17:gpu0", "n17:gpu1", "n4:gpu0"}))(0, 2), 2);
  EXPECT_EQ(known.values_for(matrix("node_to_node_x", {"n17", "n4"}))(0, 1), 3);
}

TEST(References, WhatIsNoLineOfThemIsRefusedWithItsNumber) {
  for (const std::string_view text : {"t\tgpu0->gpu1\t390\n", "t gpu0->gpu1 390 GB/s", "t\t\t390\tGB/s",
                                      "t\tgpu0->gpu1\t390\tGB/s\tmore", "t\tgpu0->gpu1\t390\t"})
    EXPECT_EQ(refusal("# head\n" + std::string(text)),
              "line 2: write TESTCASE, NAME, VALUE and UNIT, separated by tabs")
        << text;
  for (const std::string_view value : {"0", "-1", "nan", "inf", "1e99", "fast", "1 "})
    EXPECT_TRUE(refusal("t\tgpu0->gpu1\t" + std::string(value) + "\tGB/s").starts_with("line 1: the value '")) << value;
}

TEST(References, AFileIsNamedWithWhatIsWrongInIt) {
  const std::filesystem::path folder = own_folder("references"), file = folder / "expected.tsv";
  std::filesystem::create_directory(folder);
  EXPECT_THROW(References::read(folder / "none"), BadInput);
  EXPECT_THROW(References::read(folder), BadInput);
  std::ofstream(file) << "t\n";
  try {
    References::read(file);
    ADD_FAILURE() << "it was read";
  } catch (const BadInput& error) {
    EXPECT_EQ(std::string(error.what()),
              "--references " + file.string() + ", line 1: write TESTCASE, NAME, VALUE and UNIT, separated by tabs");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace linkmatrix
