#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "core/error.hpp"
#include "core/units.hpp"
#include "p2p/options.hpp"
#include "parsed_options.hpp"

namespace linkmatrix {
namespace {

P2pOptions parse(std::vector<std::string> words) { return parsed(parse_p2p_options, std::move(words)); }

TEST(Options, UnderstandBothSpellings) {
  EXPECT_EQ(parse({"--size", "4MiB"}).sizes.front(), 4 * MiB);
  EXPECT_EQ(parse({"--size=4MiB"}).sizes.front(), 4 * MiB);
  EXPECT_EQ(parse({"--devices", "2,5"}).devices, (std::vector<int>{2, 5}));
}

TEST(Options, ATargetThatIsAskedForIsNotGivenUpBecauseACellIsSlow) {
  const std::vector<double> noisy{1, 2, 1, 2, 1, 2, 1};
  EXPECT_TRUE(parse({}).measure.stop.done(noisy, 3));
  EXPECT_FALSE(parse({"--target-ci", "0.1"}).measure.stop.done(noisy, 3)) << "--max-time ends it, and 28 samples";
}

TEST(Options, NameTheNearestKnownWord) {
  EXPECT_NE(message([] { parse({"--sizes", "4"}); }).find("did you mean --size"), std::string::npos);
  EXPECT_NE(message([] { parse({"--test", "4"}); }).find("did you mean --testcase"), std::string::npos);
  EXPECT_NE(message([] {
              parse({"--testcase", "device_to_device_memcpy_writ_ce"});
            }).find("did you mean device_to_device_memcpy_write_ce"),
            std::string::npos);
  EXPECT_NE(message([] { parse({"--engine", "dma"}); }).find("ce, sm or mpi"), std::string::npos);
  EXPECT_NE(message([] { parse({"--engine", "nccl"}); }).find("ce, sm or mpi"), std::string::npos);
}

TEST(Options, RefuseContradictionsAndHalfOptions) {
  EXPECT_FALSE(message([] { parse({"--suite", "quick", "--engine", "ce"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--devices", "1,1"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--devices", "1,,2"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--size"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--no-verify=1"}); }).empty());
  EXPECT_FALSE(message([] { parse({"quick"}); }).empty());
}

TEST(Options, RefuseWhatContradictsItself) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--size", "1MiB", "--sweep", "1KiB:1MiB"},
                                             {"--sweep", "1MiB:1KiB"},
                                             {"--sweep", "1MiB"},
                                             {"--sweep", "1KiB:1MiB:1"},
                                             {"--sweep", "1KiB:1MiB", "--blocks", "1,2"},
                                             {"--random-sizes", "3"},
                                             {"--random-sizes", "0:1:2"},
                                             {"--threads", "33"},
                                             {"--blocks", "0"},
                                             {"--limit", "NV18"},
                                             {"--limit", "=4"},
                                             {"--host-memory", "pageable", "--blocks", "4"},
                                             {"--huge-pages", "yes"}})
    EXPECT_THROW(parse(bad), BadInput) << join(bad);
}

TEST(Options, EndARunSoonAfterItsBudgetUnlessTheySayMore) {
  const P2pOptions brief = parse({"--budget", "10"});
  EXPECT_EQ(brief.timeout, 40);
  EXPECT_EQ(brief.measure.max_seconds, 10);
  const P2pOptions said = parse({"--budget", "10", "--timeout", "500", "--max-time", "50"});
  EXPECT_EQ(said.timeout, 500);
  EXPECT_EQ(said.measure.max_seconds, 50);
  EXPECT_EQ(parse({}).timeout, 600);
}

TEST(Options, GiveTheSizesOfASweepAndOfASeed) {
  EXPECT_EQ(parse({"--sweep", "1KiB:6KiB"}).sizes, (std::vector<std::uint64_t>{1024, 2048, 4096, 6144}));
  EXPECT_EQ(parse({"--sweep", "4:4"}).sizes, (std::vector<std::uint64_t>{4}));
  const auto sizes = parse({"--random-sizes", "50:1KiB:1MiB", "--seed", "7"}).sizes;
  EXPECT_EQ(sizes, parse({"--seed", "7", "--random-sizes", "50:1KiB:1MiB"}).sizes);
  EXPECT_NE(sizes, parse({"--random-sizes", "50:1KiB:1MiB", "--seed", "8"}).sizes);
  for (const std::uint64_t size : sizes) EXPECT_TRUE(size >= KiB && size <= MiB) << size;
}

/// What a run of these words on a back end says of options that do nothing; "" where all of them do something.
std::string refusal(std::string_view words, std::string_view backend) {
  return message([&] {
    const P2pOptions options = parse(split(words, ' '));  // refuses itself where no machine is asked
    std::vector<TestCase> chosen;
    if (options.print == nullptr && !options.topology)
      chosen = options.named.empty() ? named_testcases("device_to_device_memcpy_write_ce") : options.named;
    refuse_unused(options, {backend, chosen});
  });
}

struct Scope {
  std::string_view option;                      ///< with its value
  std::string_view backend, words;              ///< of a run where it does something
  std::string_view other_backend, other_words;  ///< of one where it does nothing; none: it always does
  std::string_view why;
};

constexpr std::string_view write_ce = "--testcase device_to_device_memcpy_write_ce",
                           write_sm = "--testcase device_to_device_memcpy_write_sm",
                           cached = "--testcase device_to_device_memcpy_write_sm_cached",
                           both_ce = "--testcase device_to_device_bidirectional_memcpy_write_ce",
                           from_host = "--testcase host_to_device_memcpy_ce",
                           chase = "--testcase device_to_device_latency_sm",
                           stress = "--testcase device_to_device_memcpy_write_ce_stress",
                           peer_off = "--testcase device_to_device_memcpy_write_ce_peer_off",
                           ranks_bandwidth = "--testcase rank_to_rank_bandwidth_mpi",
                           ranks_latency = "--testcase rank_to_rank_latency_mpi",
                           nodes = "--testcase node_to_node_bandwidth_mpi";

/// Returns a row per option of every measurement: without a measurement, the option does nothing.
std::vector<Scope> scopes_of_measurements() {
  std::vector<Scope> rows;
  for (const std::string_view option :
       {"--suite quick", "--metric bandwidth", "--direction write", "--engine ce", "--samples 3", "--short-samples 66",
        "--target-ci 1", "--verify", "--no-verify", "--max-time 3", "--budget 3", "--wait-idle 3", "--refuse-busy",
        "--pair-timeout 3", "--soak 3m"})
    rows.push_back({option, "host", "", "host", "--topology", "nothing is measured"});
  return rows;
}

/// Where every other option applies, and where it is refused.
const std::vector<Scope> other_scopes{
    {"--testcase device_local_copy", "cuda", "", "cuda", "--topology", "nothing is measured"},
    {"--memory host", "mpi", "--topology", "cuda", "--topology", "nothing is measured"},
    {"--memory device", "mpi", ranks_latency, "host", "--topology", "nothing is measured"},
    {"--memory device", "mpi", write_ce, "cuda", write_ce, "specify the memory"},
    {"--memory host", "mpi", "--suite quick", "host", "--suite quick", "specify the memory"},
    {"--peer-access off", "cuda", "", "cuda", "--topology", "nothing is measured"},
    {"--devices 0,1", "cuda", write_ce, "mpi", ranks_latency, "start fewer ranks with mpirun -n"},
    {"--devices 0,1", "host", "--topology", "mpi", "--topology", "start fewer ranks with mpirun -n"},
    {"--topology", "host", "", "", "--list", "another option already chooses the output"},
    {"--backend host", "host", "--topology", "", "--list", "only a table is printed"},
    {"--size 4KiB", "host", write_ce, "host", chase, "a fixed size"},
    {"--size 4KiB", "mpi", ranks_latency, "host", "--topology", "nothing is measured"},
    {"--sweep 4KiB:8KiB", "host", write_ce, "cuda", chase, "a fixed size"},
    {"--random-sizes 2:4KiB:8KiB", "host", write_ce, "cuda", chase, "a fixed size"},
    {"--seed 3", "host", "--random-sizes 2:4KiB:8KiB", "host", "--size 4KiB", "add --random-sizes"},
    {"--references expected.tsv", "host", "", "host", "--size 1MiB,2MiB", "references apply to one size"},
    {"--references expected.tsv", "mpi", ranks_bandwidth, "mpi",
     "--concurrency matchings --testcase rank_to_rank_latency_mpi", "matchings always confirms slow cells"},
    {"--groups leaves.txt", "mpi", "--concurrency matchings --testcase rank_to_rank_latency_mpi", "mpi", ranks_latency,
     "needs --concurrency matchings"},
    {"--confirm-after 3", "mpi", "--concurrency matchings --testcase rank_to_rank_latency_mpi", "mpi", ranks_latency,
     "needs --concurrency matchings"},
    {"--offset 3", "mpi", ranks_latency, "host", chase, "a fixed size"},
    {"--kernel cached", "host", write_sm, "host", write_ce, "no selected test case copies with a kernel"},
    {"--kernel cached", "cuda", write_sm, "cuda", chase, "no selected test case copies with a kernel"},
    {"--kernel bulk", "cuda", write_sm, "cuda", cached, "contains its kernel"},
    {"--kernel bulk", "cuda", write_sm, "mpi", ranks_bandwidth, "no selected test case copies with a kernel"},
    {"--blocks 4", "cuda", cached, "host", write_sm, "only GPU kernels have blocks"},
    {"--blocks 4", "cuda", write_sm, "mpi", ranks_bandwidth, "no selected test case copies with a kernel"},
    {"--threads 64", "cuda", write_sm, "cuda", write_ce, "no selected test case copies with a kernel"},
    {"--triangle", "host", both_ce, "mpi", ranks_bandwidth, "no pairs of devices"},
    {"--triangle", "cuda", stress, "cuda", from_host, "no pairs of devices"},
    {"--local-copy", "host", write_ce, "mpi", ranks_bandwidth, "needs a unidirectional test case"},
    {"--local-copy", "cuda", write_sm, "cuda", both_ce, "needs a unidirectional test case"},
    {"--host-memory pageable", "cuda", from_host, "host", write_ce, "no copies between GPUs and host memory"},
    {"--host-memory pinned", "cuda", from_host, "cuda", write_ce, "no copies between GPUs and host memory"},
    {"--huge-pages off", "host", write_ce, "cuda", write_ce, "no host memory is measured"},
    {"--huge-pages off", "mpi", ranks_latency, "mpi", "--memory device --testcase rank_to_rank_latency_mpi",
     "no host memory is measured"},
    {"--window 8", "mpi", ranks_bandwidth, "mpi", ranks_latency, "no bandwidth between ranks"},
    {"--window 8", "mpi", nodes, "host", write_ce, "no bandwidth between ranks"},
    {"--pairs-per-node 2", "mpi", ranks_latency, "host", write_ce, "no ranks are measured"},
    {"--mapping crossed", "mpi", nodes, "mpi", ranks_bandwidth, "no pairs of nodes"},
    {"--transport staged", "mpi", "--memory device --testcase rank_to_rank_latency_mpi", "mpi", ranks_latency,
     "add --memory device under mpirun"},
    {"--transport mpi", "mpi", "--memory device --testcase rank_to_rank_latency_mpi", "cuda", write_ce,
     "no device memory is sent between ranks"},
    {"--short-samples 66", "mpi", ranks_latency, "mpi", "--concurrency matchings --testcase rank_to_rank_latency_mpi",
     "--concurrency matchings always confirms slow cells"},
    {"--warmup 2", "mpi", ranks_latency, "host", "--topology", "nothing is measured"},
    {"--warmup-both-ways", "host", write_ce, "mpi", ranks_latency, "nothing is measured between devices"},
    {"--warmup-both-ways", "cuda", stress, "cuda", from_host, "nothing is measured between devices"},
    {"--warmup 0", "host", write_ce, "mpi", ranks_latency, "ranks need a warm-up"},
    {"--concurrency serial", "host", "", "", "--limits", "nothing is measured"},
    {"--soak 3m", "cuda", "", "mpi", ranks_latency, "ranks are not heated"},
    {"--timeout 3", "host", "--topology", "", "--list", "only a table is printed"},
    {"--record r.json", "host", "--topology", "", "--list", "only a table is printed"},
    {"--ignore-processes dcgm:root", "host", "--topology", "", "--list", "only a table is printed"},
    {"--asked-by me", "host", "--record r.json", "host", "", "add --record FILE"},
    {"--ignore-processes hog:bob", "host", "--topology", "", "--limits", "only a table is printed"},
    {"--max-display 3", "host", "--topology", "", "--limits", "only a table is printed"},
    {"--timing", "host", "--topology", "", "--limits", "only a table is printed"},
    {"--utilisation", "cuda", "", "host", "", "set it with --limit"},
    {"--utilisation", "host", "--limit CORE=9", "cuda", chase, "no selected test case has a link limit"},
    {"--limit CORE=9", "host", "", "cuda", peer_off, "no selected test case has a link limit"},
    {"--simulate-fault slow:cpu1", "host", "", "host", "--topology", "no measurement can have this fault"},
    {"--simulate-fault shared:cpu1", "host", "", "host", "--concurrency serial", "concurrent cells"},
    {"--simulate-fault counter:cpu1", "host", "--topology", "", "--list", "only a table is printed"},
    {"--list", "", "", "", "--limits", "another option already chooses the output"},
    {"--format json", "host", "--list", "host", "", "only --list has a format"},
    {"--limits", "", "", "", "--list", "another option already chooses the output"},
    {"--version", "", "--suite quick", "", "", ""},
    {"--help", "", "--suite quick", "", "", ""},
};

std::vector<Scope> all_scopes() {
  std::vector<Scope> rows = scopes_of_measurements();
  rows.insert(rows.end(), other_scopes.begin(), other_scopes.end());
  return rows;
}

std::string joined(std::string_view option, std::string_view words) {
  return std::string(option) + (words.empty() ? "" : " ") + std::string(words);
}

TEST(Options, DoSomethingOrAreRefused) {
  for (const Scope& row : all_scopes()) {
    EXPECT_EQ(refusal(joined(row.option, row.words), row.backend), "") << row.option;
    if (row.why.empty()) continue;
    const std::string said = refusal(joined(row.option, row.other_words), row.other_backend);
    const std::string name(row.option.substr(0, row.option.find(' ')));
    EXPECT_EQ(said.find(name + " does nothing in this run: "), 0u) << row.option << ": " << said;
    EXPECT_NE(said.find(row.why), std::string::npos) << row.option << ": " << said;
  }
}

/// Returns the options of --help, each at the beginning of a line.
std::set<std::string> options_of_help() {
  std::set<std::string> names;
  std::istringstream lines(p2p_help());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  --")) names.insert(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

TEST(Options, AllHaveARowHere) {
  std::set<std::string> tested;
  for (const Scope& row : all_scopes()) tested.emplace(row.option.substr(0, row.option.find(' ')));
  EXPECT_EQ(tested, options_of_help());
}

TEST(Help, HasItsTextInOneColumnOfATerminal) {
  std::istringstream lines(p2p_help());
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_NE(p2p_help().find("\n  --topology                print the topology and exit\n"), std::string::npos);
  EXPECT_NE(p2p_help().find("\n  --simulate-fault KIND:ENDPOINT\n                            simulate a fault: "),
            std::string::npos);
}

}  // namespace
}  // namespace linkmatrix
