// What a matrix of N nodes costs apart from the network: the real schedule and the real writer with made-up timings.
// usage: network_simulation NODES RANKS_PER_NODE FOLDER [apart]
//
// It prints how long it took to make all rounds, to store every cell and to write the record, the memory that this took
// at the root, and how long the measurement would take if every round took as long as is said. The folder gets
// record.json, what the program would print as out.txt, and the cells in a file: `apart`, however few they are.

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "core/clock.hpp"
#include "core/record.hpp"
#include "core/table.hpp"
#include "ranks/cell_file.hpp"
#include "ranks/network.hpp"
#include "ranks/rounds.hpp"
#include "ranks/sink.hpp"

namespace {

using namespace linkmatrix;
using namespace linkmatrix::ranks;

constexpr double round_seconds = 0.05;  // 7 samples of 2.5 ms, warm-up, verification, and the conductor's orders

double peak_mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Report made_up(const Match& match) {
  Report report;
  report.value = 48.9 - 0.001 * static_cast<double>((match.row * 7919 + match.column * 104729) % 100);
  report.low = report.value - 0.01;
  report.high = report.value + 0.01;
  report.samples = 7;
  report.converged = true;
  return report;
}

Record described(std::size_t nodes, std::size_t per_node) {
  Record record;
  record.program = "p2p_matrix";
  record.started = utc_now();
  record.command = {"network_simulation", std::to_string(nodes), std::to_string(per_node)};
  record.backend = "mpi";
  record.host = {"n0", "none: this is a simulation", 1, 1};
  for (std::size_t rank = 0; rank < nodes * per_node; ++rank) {
    Endpoint& endpoint = record.devices.emplace_back();
    endpoint.index = static_cast<int>(rank);
    endpoint.node = "n" + std::to_string(rank / per_node);
    endpoint.label = endpoint.node + ":rank" + std::to_string(rank);
    endpoint.name = "host memory";
  }
  MatrixResult& result = record.results.emplace_back();
  result.testcase = "node_to_node_bandwidth_mpi";
  result.quantity = "total bandwidth";
  result.engine = Engine::mpi;
  result.memory = Memory::host;
  result.transport = "mpi";
  result.unit = "GB/s";
  result.size_bytes = MiB;
  return record;
}

void write(const Record& record, const std::filesystem::path& folder) {
  write_record(record, folder / "record.json");
  std::ofstream out(folder / "out.txt");
  print_result(out, record.results.front(), most_in_record);
  out << "Result: " << record.result << '\n';
}

int simulate(std::size_t nodes, std::size_t per_node, const std::filesystem::path& folder, bool apart) {
  std::vector<std::vector<int>> ranks_of(nodes);
  for (std::size_t rank = 0; rank < nodes * per_node; ++rank)
    ranks_of[rank / per_node].push_back(static_cast<int>(rank));
  const Rounds rounds(ranks_of, {.by_node = true});
  Record record = described(nodes, per_node);
  MatrixResult& result = record.results.front();
  std::vector<std::string> labels;
  for (std::size_t n = 0; n < nodes; ++n) labels.push_back("n" + std::to_string(n));
  std::unique_ptr<Sink> sink;
  if (apart || nodes > most_in_record) {
    result.rows = result.columns = labels;
    sink = std::make_unique<CellFile>(folder / ("record." + result.testcase + ".npy"), nodes, false, true);
  } else {
    result.shape(labels, labels);
    sink = std::make_unique<ResultSink>(result, true);
  }
  double scheduling = 0, storing = 0;
  std::uint64_t cells = 0;
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    auto start = Clock::now();
    const std::vector<Match> matches = rounds.at(round);
    scheduling += seconds_since(start);
    start = Clock::now();
    for (const Match& match : matches) sink->put(match.row, match.column, made_up(match));
    storing += seconds_since(start);
    cells += matches.size();
  }
  const auto start = Clock::now();
  if (auto* file = dynamic_cast<CellFile*>(sink.get())) {
    result.large = file->summary([](std::size_t, std::size_t) { return std::string("NET"); });
    result.cells_verified = file->verified();
  }
  result.schedule = {true, false, rounds.count(), nodes / 2, std::nullopt};
  write(record, folder);
  const double writing = seconds_since(start);
  std::cout << nodes << " nodes of " << per_node << " ranks: " << rounds.count() << " rounds, " << cells << " cells\n"
            << "schedule " << scheduling << " s, storing " << storing << " s, summary and record " << writing
            << " s, peak memory of the root " << peak_mebibytes() << " MiB\n"
            << "measuring, at " << round_seconds
            << " s a round: " << round_seconds * static_cast<double>(rounds.count()) / 60
            << " min; each other rank keeps " << sizeof(Order) << " bytes of it\n";
  return cells == static_cast<std::uint64_t>(nodes) * (nodes - 1) && result.complete() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool apart = argc == 5 && std::string_view(argv[4]) == "apart";
  if (argc != 4 && !apart) {
    std::cerr << "usage: network_simulation NODES RANKS_PER_NODE FOLDER [apart]\n";
    return 2;
  }
  return simulate(std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10), argv[3], apart);
}
