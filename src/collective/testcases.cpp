#include "collective/testcases.hpp"

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <map>
#include <sstream>

#include "core/command_line.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::array algorithms{"Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

struct ExclusionWords {
  LeftOut excluded;
  std::string_view name, text;
};
constexpr ExclusionWords exclusions[] = {
    {LeftOut::rank, "_without", "all ranks except one, each excluded in turn"},
    {LeftOut::node, "_without_node", "all nodes except one, each excluded in turn"},
    {LeftOut::rail, "_without_rail",
     "all rails except one, each excluded in turn; a rail is the ranks with one number on their nodes"},
    {LeftOut::half, "_halves", "both halves of the ranks, for each binary digit of the rank number"},
};

std::vector<CollectiveTestCase> make_all() {
  std::vector<CollectiveTestCase> all;
  for (const auto& [collective, name] : Words<Collective>::table) {
    if (collective == Collective::send) {
      all.push_back({"rank_to_rank_bandwidth_nccl", collective, "", LeftOut::none,
                     "NCCL sends from each rank to each other rank, as a matrix"});
      continue;
    }
    const std::string program = std::string(name) + "_perf";
    all.push_back({program, collective, "", LeftOut::none, std::string(name) + ", algorithm chosen by the library"});
    if (collective == Collective::all_reduce)
      for (const auto& [without, end, text] : exclusions)
        all.push_back(
            {program + std::string(end), collective, "", without, std::string(name) + " of " + std::string(text)});
    if (is_made_of_sends(collective)) continue;
    for (const std::string_view algorithm : algorithms)
      all.push_back({program + "_" + lower(algorithm), collective, algorithm, LeftOut::none,
                     std::string(name) + ", NCCL algorithm " + std::string(algorithm) + " forced"});
  }
  return all;
}

std::vector<CollectiveTestCase> select(bool (*wanted)(const CollectiveTestCase&)) {
  std::vector<CollectiveTestCase> out;
  std::ranges::copy_if(collective_testcases(), std::back_inserter(out), wanted);
  return out;
}

constexpr std::size_t fewest = 3;  // two columns do not show which component is slow
constexpr int fewest_in_half = 2;  // a collective needs two ranks

using Names = std::vector<std::string>;

/// Returns one subset per distinct name, in the order of first occurrence. names: name of each rank's component.
std::vector<Subset> without_each(const Names& names) {
  std::vector<Subset> subsets;
  std::map<std::string, std::size_t> place;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [known, is_new] = place.try_emplace(names[rank], subsets.size());
    if (is_new) subsets.push_back({"without-" + names[rank], {}});
    subsets[known->second].excluded.add(static_cast<int>(rank));
  }
  return subsets;
}

Names rails_of(const Names& nodes) {
  std::map<std::string, int> seen;
  Names rails;
  for (const std::string& node : nodes) rails.push_back("rail" + std::to_string(seen[node]++));
  return rails;
}

bool is_one(const Names& nodes) {
  return std::ranges::all_of(nodes, [&](const std::string& node) { return node == nodes.front(); });
}

std::vector<Subset> halves(int ranks) {
  std::vector<Subset> subsets;
  for (int digit = 0; 1 << digit < ranks; ++digit)
    for (const int taking_part : {0, 1}) {
      Subset half{"digit" + std::to_string(digit) + "-is-" + std::to_string(taking_part), {}};
      for (int rank = 0; rank < ranks; ++rank)
        if ((rank >> digit & 1) != taking_part) half.excluded.add(rank);
      if (ranks - half.excluded.count() >= fewest_in_half) subsets.push_back(half);
    }
  return subsets;
}

}  // namespace

const std::vector<CollectiveTestCase>& collective_testcases() {
  static const std::vector<CollectiveTestCase> all = make_all();
  return all;
}

std::vector<CollectiveTestCase> named_collectives(std::string_view names) {
  return select_by_name(collective_testcases(), split(names, ','), &CollectiveTestCase::name);
}

std::string setting_of(const CollectiveCase& wanted) {
  const CollectiveCase usual;
  std::vector<std::string> words;
  if (wanted.type != usual.type) words.emplace_back(word(wanted.type));
  if (reduces(wanted.collective) && wanted.reduction != usual.reduction) words.emplace_back(word(wanted.reduction));
  if (has_root(wanted.collective) && wanted.root != usual.root) words.push_back("root " + std::to_string(wanted.root));
  if (wanted.launch != usual.launch) words.emplace_back(word(wanted.launch));
  return join(words, ", ");
}

std::vector<CollectiveTestCase> collective_suite(std::string_view name) {
  if (name == "quick") return select([](auto& t) { return t.name == "all_reduce_perf"; });
  if (name == "full")
    return select([](auto& t) {
      return t.algorithm.empty() ||
             (t.collective == Collective::all_reduce && (t.algorithm == "Ring" || t.algorithm == "Tree"));
    });
  throw BadInput("unknown --suite '" + std::string(name) + "': use quick or full");
}

std::string collective_list() {
  std::ostringstream out;
  for (const CollectiveTestCase& testcase : collective_testcases())
    out << std::left << std::setw(44) << testcase.name << testcase.description << '\n';
  return out.str();
}

std::vector<Subset> subsets_of(LeftOut excluded, const Names& labels, const Names& nodes) {
  if (labels.size() > RankSet::most) return {};
  std::vector<Subset> subsets;
  switch (excluded) {
    case LeftOut::none:
      break;
    case LeftOut::rank:
      subsets = without_each(labels);
      break;
    case LeftOut::node:
      subsets = without_each(nodes);
      break;
    case LeftOut::rail:
      if (!is_one(nodes)) subsets = without_each(rails_of(nodes));
      break;
    case LeftOut::half:
      if (labels.size() > fewest) subsets = halves(static_cast<int>(labels.size()));
      break;
  }
  return subsets.size() < fewest ? std::vector<Subset>() : subsets;
}

std::string_view needs(LeftOut excluded) {
  switch (excluded) {
    case LeftOut::node:
      return "ranks on 3 nodes or more, and 1024 ranks at most";
    case LeftOut::rail:
      return "2 nodes or more with 3 ranks or more, and 1024 ranks at most";
    case LeftOut::half:
      return "4 ranks or more, and 1024 at most";
    default:
      return "3 ranks or more, and 1024 at most";
  }
}

}  // namespace linkmatrix
