#include <gtest/gtest.h>

#include <set>

#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

TEST(Plan, GivesCopiesThatMeetBuffersOfTheirOwn) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.add_host_memory();
  for (const TestCase& t : all_testcases()) {
    if (t.engine == Engine::mpi) continue;
    for (const CopyCell& cell : make_plan(t, backend, {}).cells) {
      std::set<std::pair<int, int>> sources, destinations;
      for (const Copy& copy : cell.copies) {
        EXPECT_TRUE(sources.insert({copy.source, copy.source_slot}).second) << t.name;
        EXPECT_TRUE(destinations.insert({copy.destination, copy.destination_slot}).second) << t.name;
      }
    }
  }
}

TEST(Plan, MeasuresTheTriangleOrTheDiagonalWhereAsked) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const auto statuses = [&](const PlanOptions& options) {
    const MatrixResult result = measured(backend, make_plan(one_way, backend, options));
    EXPECT_TRUE(result.complete());
    return result.status;
  };
  const auto triangle = statuses({.triangle = true}), local = statuses({.local_copy = true});
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(triangle(r, c), r < c ? CellStatus::ok : CellStatus::not_applicable);
      EXPECT_EQ(local(r, c), CellStatus::ok);
    }
}

TEST(Plan, TakesTheUsersLimits) {
  ScriptedBackend backend(2, at_10_gigabytes);
  Plan plan = make_plan(bidirectional_write, backend, {.limits = {{"NV1", 20.0}}});
  EXPECT_EQ(plan.result.limit(0, 1), 40.0);
  MatrixResult result = measured(backend, plan);
  result.add_utilisation();
  EXPECT_NEAR(*result.parts.at("utilisation").values(0, 1), 50, 1e-6);
}

TEST(Plan, LeavesOutPairsWithoutPeerAccessAndSaysSo) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.topology_.peer_access(0, 1) = backend.topology_.peer_access(1, 0) = false;
  const MatrixResult result = measured(backend, one_way);
  EXPECT_EQ(result.status(0, 1), CellStatus::no_peer_access);
  EXPECT_EQ(result.cells_expected(), 4u);
  EXPECT_TRUE(result.complete());
}

TEST(Plan, RefusesAMatrixWithoutACell) {
  ScriptedBackend one(1, at_10_gigabytes);
  EXPECT_THROW(make_plan(one_way, one, {}), BadInput);
  ScriptedBackend none(2, at_10_gigabytes);
  for (auto* cell : {&none.topology_.peer_access(0, 1), &none.topology_.peer_access(1, 0)}) *cell = false;
  EXPECT_THROW(make_plan(one_way, none, {}), BadInput);
}

}  // namespace
}  // namespace linkmatrix
