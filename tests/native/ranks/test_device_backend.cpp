#include <gtest/gtest.h>

#include <algorithm>

#include "core/units.hpp"
#include "ranks/device/device_backend.hpp"

namespace linkmatrix::ranks {
namespace {

/// Ranks with scripted devices. By default a device completes each order immediately.
class ScriptedRanks final : public Correspondence {
 public:
  struct Seen {
    int rank;
    DeviceOrder order;
  };

  std::vector<Reply> ask(const std::vector<Question>& questions, double) override {
    std::vector<Reply> replies;
    for (const auto& [rank, bytes] : questions) {
      const DeviceOrder order = unpack<DeviceOrder>(bytes);
      seen.push_back({rank, order});
      if (broken_at.contains({rank, order.task}))
        replies.push_back({broken_at[{rank, order.task}], "gpu" + std::to_string(rank) + ": scripted", {}});
      else
        replies.push_back({ReportStatus::ok, "", pack(answer(rank, order))});
    }
    return replies;
  }

  std::optional<std::string> lost(int rank) const override {
    return silent == rank ? std::optional<std::string>("it does not answer any more") : std::nullopt;
  }

  /// Returns the tasks of a rank, in order of arrival.
  std::vector<DeviceTask> tasks(int rank) const {
    std::vector<DeviceTask> out;
    for (const Seen& one : seen)
      if (one.rank == rank) out.push_back(one.order.task);
    return out;
  }

  std::vector<Seen> seen;
  std::map<std::pair<int, DeviceTask>, ReportStatus> broken_at;
  std::map<int, double> opened;         ///< seconds, of each rank
  std::set<std::pair<int, int>> apart;  ///< ranks, the first of which cannot reach the other's memory
  int silent = -1, wrong_bytes_at = -1, late_gates = 0;
  bool compares = true;

 private:
  DeviceAnswer answer(int rank, const DeviceOrder& order) {
    DeviceAnswer answer;
    answer.opened = opened[rank];
    if (order.task == DeviceTask::reserve) answer.buffers = order.buffers;
    if (order.task == DeviceTask::open)
      for (const NamedBuffer& buffer : order.buffers)
        if (apart.contains({rank, buffer.name.endpoint})) answer.unopened.push_back({buffer.name});
    if (order.task == DeviceTask::run) answer.timed_out = late_gates-- > 0;
    for (const auto& [number, copy] : order.copies) {
      if (order.task == DeviceTask::run && copy.initiator() == rank)
        answer.copies.push_back({number, {{0, 1e-3}, static_cast<double>(copy.repeats), 0}, {}});
      if (order.task == DeviceTask::compare && copy.destination == rank && compares)
        answer.copies.push_back({number, {}, {rank == wrong_bytes_at ? 7u : 0u, 0}});
    }
    return answer;
  }
};

class ScriptedMachine final : public Machine {
 public:
  explicit ScriptedMachine(const std::vector<std::string>& nodes) {
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      Endpoint& endpoint = endpoints_.emplace_back();
      endpoint.label = "gpu" + std::to_string(r);
      endpoint.node = nodes[r];
    }
  }
  std::string name() const override { return "mpi"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }

 private:
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
};

class DeviceBackendTest : public testing::Test {
 protected:
  void use(const std::vector<std::string>& nodes) { machine_ = ScriptedMachine(nodes); }

  ScriptedMachine machine_{{"n", "n", "n"}};
  ScriptedRanks ranks_;
  DeviceBackend backend_{ranks_, machine_, cuda::HandleKind::fd};
  const Deadline soon_ = Deadline::in(5);
  const Copy there_{.source = 0, .destination = 1, .bytes = 4 * MiB};
  const Copy back_{.source = 1, .destination = 0, .bytes = 4 * MiB};
};

using enum DeviceTask;

TEST_F(DeviceBackendTest, MakesBuffersOnBothSidesAndOpensThemWhereTheyAreNeeded) {
  backend_.prepare(std::vector{there_}, soon_);
  EXPECT_EQ(ranks_.tasks(0), (std::vector{reserve, open}));
  EXPECT_EQ(ranks_.tasks(1), (std::vector{reserve})) << "a destination that is written to reaches for nothing";
  const DeviceOrder& opening = ranks_.seen.back().order;
  ASSERT_EQ(opening.buffers.size(), 1u);
  EXPECT_EQ(opening.buffers.front().name, (BufferName{1, Role::destination, 0}));
}

TEST_F(DeviceBackendTest, HasTheReaderOpenWhatItReads) {
  Copy read = there_;
  read.direction = Direction::read;
  backend_.prepare(std::vector{read}, soon_);
  EXPECT_EQ(ranks_.seen.back().rank, 1);
  EXPECT_EQ(ranks_.seen.back().order.buffers.front().name, (BufferName{0, Role::source, 0}));
}

TEST_F(DeviceBackendTest, OpensNothingTwiceAndClosesWhatIsMadeAnew) {
  backend_.prepare(std::vector{there_}, soon_);
  ranks_.seen.clear();
  backend_.prepare(std::vector{there_}, soon_);
  EXPECT_TRUE(ranks_.seen.empty());
  Copy larger = there_;
  larger.bytes *= 2;
  backend_.prepare(std::vector{larger}, soon_);
  EXPECT_EQ(ranks_.tasks(0), (std::vector{close, reserve, open}));
}

TEST_F(DeviceBackendTest, ArmsAllBeforeItOpensAnyGateAndKeepsTheirStartsApart) {
  ranks_.opened = {{0, 100.0}, {1, 100.25e-3 + 99.9}};
  const std::vector<Copy> copies{there_, back_};
  backend_.prepare(copies, soon_);
  ranks_.seen.clear();
  const Timeline timeline = backend_.run(copies, soon_);
  ASSERT_EQ(ranks_.seen.size(), 4u);
  EXPECT_EQ(ranks_.seen[1].order.task, arm);
  EXPECT_EQ(ranks_.seen[2].order.task, run);
  EXPECT_GT(ranks_.seen[2].order.open_at, 0);
  ASSERT_EQ(timeline.copies.size(), 2u);
  EXPECT_NEAR(timeline.copies[0].span.start, 0, 1e-9);
  EXPECT_NEAR(timeline.copies[1].span.start, 0.25e-3, 1e-9) << "processes of a node share a clock";
  EXPECT_EQ(timeline.uncertainty, 0);
}

TEST_F(DeviceBackendTest, SaysThatClocksOfTwoNodesDiffer) {
  use({"a", "b", "b"});
  ranks_.opened = {{0, 100.0}, {1, 7.0}};
  const std::vector<Copy> copies{there_, back_};
  backend_.prepare(copies, soon_);
  const Timeline timeline = backend_.run(copies, soon_);
  EXPECT_NEAR(timeline.copies[1].span.start, 0, 1e-9);
  EXPECT_GE(timeline.uncertainty, 0);
}

TEST_F(DeviceBackendTest, RunsAgainWhereAGateTimedOut) {
  backend_.prepare(std::vector{there_}, soon_);
  ranks_.late_gates = 1;
  backend_.run(std::vector{there_}, soon_);
  EXPECT_EQ(std::count_if(ranks_.seen.begin(), ranks_.seen.end(), [](auto& s) { return s.order.task == run; }), 2);
  ranks_.late_gates = 100;
  EXPECT_THROW(backend_.run(std::vector{there_}, soon_), CopiesFailed) << "it costs these cells, and not the run";
}

TEST_F(DeviceBackendTest, BlamesTheDeviceThatFailsAndLetsTheOthersGo) {
  const Copy other{.source = 2, .destination = 0, .bytes = MiB};
  const std::vector<Copy> copies{there_, back_, other};
  backend_.prepare(copies, soon_);
  ranks_.broken_at[{1, arm}] = ReportStatus::error;
  try {
    backend_.run(copies, soon_);
    FAIL() << "a rank failed";
  } catch (const CopiesFailed& failed) {
    std::set<std::size_t> blamed;
    for (const auto& failure : failed.failures()) {
      blamed.insert(failure.copy);
      EXPECT_EQ(failure.endpoint, 1);
      EXPECT_EQ(failure.status, CellStatus::error);
    }
    EXPECT_EQ(blamed, (std::set<std::size_t>{0, 1}));
  }
  EXPECT_TRUE(backend_.lost(1));
  EXPECT_EQ(backend_.lost_kind(1), LossKind::device);
  EXPECT_FALSE(backend_.lost(2));
  EXPECT_EQ(ranks_.tasks(2).back(), run) << "its copies wait behind a closed gate";
}

TEST_F(DeviceBackendTest, GivesADeviceWithoutMemoryUpAndNotTheRun) {
  ranks_.broken_at[{1, reserve}] = ReportStatus::refused;
  EXPECT_THROW(backend_.prepare(std::vector{there_}, soon_), CopiesFailed);
  EXPECT_TRUE(backend_.lost(1));
  EXPECT_EQ(backend_.lost_kind(1), LossKind::memory) << "there is room on the other device";
}

TEST_F(DeviceBackendTest, RefusesWhatNoDeviceHasRoomFor) {
  for (const int rank : {0, 1}) ranks_.broken_at[{rank, reserve}] = ReportStatus::refused;
  EXPECT_THROW(backend_.prepare(std::vector{there_}, soon_), BadInput);
  EXPECT_FALSE(backend_.lost(1));
}

TEST_F(DeviceBackendTest, FailsTheCopiesOfPairsThatCannotShareMemoryAndNoOthers) {
  ranks_.apart = {{0, 1}};
  const Copy other{.source = 0, .destination = 2, .bytes = MiB};
  backend_.prepare(std::vector{there_, other}, soon_);
  try {
    backend_.run(std::vector{other, there_}, soon_);
    FAIL() << "a buffer could not be opened";
  } catch (const CopiesFailed& failed) {
    ASSERT_EQ(failed.failures().size(), 1u);
    EXPECT_EQ(failed.failures().front().copy, 1u);
    EXPECT_FALSE(failed.failures().front().endpoint);
  }
  EXPECT_NO_THROW(backend_.run(std::vector{other}, soon_));
}

TEST_F(DeviceBackendTest, ComparesEveryCopyWhereItArrived) {
  const std::vector<Copy> copies{there_, back_};
  backend_.prepare(copies, soon_);
  ranks_.wrong_bytes_at = 0;
  const auto checks = backend_.verify(copies, 1, soon_);
  EXPECT_EQ(checks[0].wrong_bytes, 0u);
  EXPECT_EQ(checks[1].wrong_bytes, 7u);
  ranks_.compares = false;
  EXPECT_THROW(backend_.verify(copies, 1, soon_), DeviceError) << "what nobody compared is not right";
}

TEST_F(DeviceBackendTest, RefusesWhatProcessesCannotDo) {
  Copy copy = there_;
  EXPECT_FALSE(backend_.refusal(copy));
  copy.peer_access = false;
  EXPECT_NE(backend_.refusal(copy)->find("staged"), std::string::npos);
  copy.engine = Engine::mpi;
  EXPECT_TRUE(backend_.refusal(copy));
}

TEST(DeviceMessages, SurviveTheirWay) {
  DeviceOrder order;
  order.task = run;
  order.seed = 77;
  order.copies = {{3, {.source = 1, .destination = 2, .bytes = 5}}};
  order.buffers = {{{2, Role::destination, 1}, 9, {}}};
  const std::vector<std::byte> bytes = pack(order);
  const DeviceOrder arrived = unpack<DeviceOrder>(bytes);
  EXPECT_EQ(arrived.seed, 77u);
  EXPECT_EQ(arrived.copies.at(0).copy.destination, 2);
  EXPECT_EQ(arrived.buffers.at(0).name, (BufferName{2, Role::destination, 1}));
  EXPECT_THROW(unpack<DeviceOrder>(std::span(bytes).first(bytes.size() - 1)), DeviceError);
}

}  // namespace
}  // namespace linkmatrix::ranks
