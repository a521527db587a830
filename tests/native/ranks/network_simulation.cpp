// What a matrix of N nodes costs apart from the network: the real schedule and
// the real writer with made-up timings. usage: network_simulation NODES
// RANKS_PER_NODE FOLDER [apart]
//
// It prints how long it took to make all rounds, to store every cell and to
// write the record, the memory that this took at the root, and how long the
// measurement would take if every round took as long as is said. The folder
// gets record.json, what the program would print as out.txt, and the cells in a
// file: `apart`, however few they are.

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string_view>

#include "core/clock.hpp"
#include "core/record.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "ranks/cell_file.hpp"
#include "ranks/network.hpp"
#include "ranks/rank_rounds.hpp"
#include "run/atomic_file.hpp"

namespace {

using namespace linkmatrix;
using namespace linkmatrix::ranks;

constexpr double round_seconds = 0.05;  // 7 samples of 2.5 ms, warm-up, verification, and rank 0's orders

double peak_mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

CellValue made_up(const CellIndex& place) {
  CellValue cell;
  cell.status = CellStatus::ok;
  cell.value = 48.9 - 0.001 * static_cast<double>((place.row * 7919 + place.column * 104729) % 100);
  cell.low = cell.value - 0.01;
  cell.high = cell.value + 0.01;
  cell.samples = 7;
  cell.converged = cell.verified = true;
  return cell;
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
  if (const auto why = write_whole(to_json(record), folder / "record.json", 1, [] { return true; }); !why.empty())
    throw BadInput("the record cannot be written: " + why);
  std::ofstream out(folder / "out.txt");
  print_result(out, record.results.front(), most_in_record);
  out << "Result: " << record.result << '\n';
}

int simulate(std::size_t nodes, std::size_t per_node, const std::filesystem::path& folder, bool apart) {
  std::vector<std::vector<int>> ranks_of(nodes);
  for (std::size_t rank = 0; rank < nodes * per_node; ++rank)
    ranks_of[rank / per_node].push_back(static_cast<int>(rank));
  const RankRounds rounds(ranks_of, {.by_node = true});
  Guarded<Record> record(described(nodes, per_node));
  std::vector<std::string> labels;
  for (std::size_t n = 0; n < nodes; ++n) labels.push_back("n" + std::to_string(n));
  apart = apart || nodes > most_in_record;
  record.change([&](Record& r) {
    MatrixResult& result = r.results.front();
    apart ? void(result.rows = result.columns = labels) : result.set_labels(labels, labels);
  });
  std::unique_ptr<Store> store;
  if (apart)
    store = std::make_unique<CellFile>(record, folder / "record.node_to_node_bandwidth_mpi.npy", nodes, false,
                                       [](std::size_t, std::size_t) { return std::string("NET"); });
  else
    store = std::make_unique<ResultStore>(record);
  double scheduling = 0, storing = 0;
  std::uint64_t cells = 0;
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    auto start = Clock::now();
    const Round places = rounds.at(round);
    scheduling += seconds_since(start);
    start = Clock::now();
    for (const CellIndex& place : places) store->put(place, made_up(place));
    storing += seconds_since(start);
    cells += places.size();
  }
  const auto start = Clock::now();
  store->finish();
  record.change([&](Record& r) {
    Schedule& schedule = r.results.front().schedule;
    schedule.at_once = true;
    schedule.rounds = rounds.count();
    schedule.pairs_at_once = nodes / 2;
    write(r, folder);
  });
  const double writing = seconds_since(start);
  std::cout << nodes << " nodes of " << per_node << " ranks: " << rounds.count() << " rounds, " << cells << " cells\n"
            << "schedule " << scheduling << " s, storing " << storing << " s, summary and record " << writing
            << " s, peak memory of the root " << peak_mebibytes() << " MiB\n"
            << "measuring, at " << round_seconds
            << " s a round: " << round_seconds * static_cast<double>(rounds.count()) / 60
            << " min; each other rank keeps " << sizeof(Order) << " bytes of it\n";
  const bool complete = record.read([](const Record& r) { return r.results.front().complete(); });
  return cells == static_cast<std::uint64_t>(nodes) * (nodes - 1) && complete ? 0 : 1;
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
