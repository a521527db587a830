// Simulates a few matchings of many endpoints on a network with injected faults. Prints one line of JSON per trial: the
// injected faults, the drawn matchings, the measured cells and the slow endpoints that the program found.
// tests/benchmarks/few_rounds.py compares them. usage: matchings_simulation ENDPOINTS TRIALS SEED SIGMA FAULTS
// [UPLINKS BAD adaptive|hashed]
// FAULTS: number of faults, each of 5, 10 or 30 % at random, of what an endpoint sends, receives or both. UPLINKS:
// lines of each leaf of 32 endpoints to all others; BAD: those of one leaf drawn at random.

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "core/json.hpp"
#include "simulated_network.hpp"

namespace {

using namespace linkmatrix;

std::vector<SimulatedNetwork::Fault> drawn_faults(std::size_t endpoints, std::size_t count, std::mt19937& random) {
  constexpr std::array losses{0.05, 0.1, 0.3};
  std::vector<SimulatedNetwork::Fault> faults;
  std::set<std::size_t> used;
  while (faults.size() < count) {
    const std::size_t endpoint = random() % endpoints;
    if (!used.insert(endpoint).second) continue;
    const auto how = random() % 3;
    faults.push_back({endpoint, how != 1, how != 0, losses.at(random() % losses.size())});
  }
  return faults;
}

constexpr std::size_t endpoints_of_leaf = 32;

struct Uplinks {
  double usual = 0, bad = 0;
  bool is_hashed = false;
};

std::string_view directions(bool sends, bool receives) {
  return sends && receives ? "sends and receives" : sends ? "sends" : "receives";
}

std::string trial(std::size_t endpoints, unsigned seed, double sigma, std::size_t count, const Uplinks& uplinks) {
  std::mt19937 random(seed);
  const auto faults = drawn_faults(endpoints, count, random);
  SimulatedNetwork network(endpoints, {.sigma = sigma}, faults, seed);
  std::optional<std::size_t> bad_leaf;
  if (uplinks.usual > 0) {
    const std::size_t leaves = endpoints / endpoints_of_leaf;
    network.leaves = {endpoints_of_leaf, std::vector<double>(leaves, uplinks.usual), uplinks.is_hashed};
    bad_leaf = random() % leaves;
    network.leaves.uplinks[*bad_leaf] = uplinks.bad;
  }
  const FewCells cells = measured_by_matchings(network, endpoints, seed);
  JsonWriter w;
  w.begin_object().key("truth").begin_array();
  for (const auto& fault : faults)
    w.begin_object()
        .member("endpoint", fault.endpoint)
        .member("how", directions(fault.sends, fault.receives))
        .member("loss", fault.loss)
        .end_object();
  w.end_array().member("bad_leaf", bad_leaf).member("groups", cells.result.matchings->groups);
  w.key("crossings").begin_array();
  for (const auto& one : cells.result.matchings->crossings)
    w.begin_object()
        .member("from", one.from)
        .member("to", one.to)
        .member("pairs", one.pairs)
        .member("rate", one.rate)
        .member("best", one.best)
        .member("few", one.few)
        .end_object();
  w.end_array().member("open", cells.result.matchings->open).key("drawn").begin_array();
  for (const auto& one : cells.result.matchings->drawn)
    w.begin_object()
        .member("purpose", word(one.purpose))
        .member("alone", one.alone)
        .member("rows", one.rows)
        .member("columns", one.columns)
        .end_object();
  w.end_array().key("slow_endpoints").begin_array();
  for (const auto& found : cells.result.matchings->slow_endpoints)
    w.begin_object()
        .member("endpoint", found.endpoint)
        .member("direction", directions(found.sends, found.receives))
        .member("reproduced", found.is_reproduced())
        .end_object();
  w.end_array().key("cells").begin_array();
  for (const auto& [place, cell] : cells.cells)
    w.begin_array().value(place.row).value(place.column).value(cell.value).end_array();
  w.end_array().end_object();
  return w.text();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 9) {
    std::cerr << "usage: matchings_simulation ENDPOINTS TRIALS SEED SIGMA FAULTS [UPLINKS BAD adaptive|hashed]\n";
    return 2;
  }
  const std::size_t endpoints = std::strtoul(argv[1], nullptr, 10), trials = std::strtoul(argv[2], nullptr, 10);
  const auto seed = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
  Uplinks uplinks;
  if (argc == 9)
    uplinks = {std::strtod(argv[6], nullptr), std::strtod(argv[7], nullptr), std::string_view(argv[8]) == "hashed"};
  for (std::size_t k = 0; k < trials; ++k)
    std::cout << trial(endpoints, seed + static_cast<unsigned>(k), std::strtod(argv[4], nullptr),
                       std::strtoul(argv[5], nullptr, 10), uplinks)
              << '\n';
  return 0;
}
