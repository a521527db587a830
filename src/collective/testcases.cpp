#include "collective/testcases.hpp"

#include <algorithm>
#include <iomanip>
#include <iterator>
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

struct LeftOutWords {
  LeftOut excluded;
  std::string_view name, text;
};
constexpr LeftOutWords left_out[] = {
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
      all.push_back({"rank_to_rank_bandwidth_nccl", collective, "", LeftOut::nobody,
                     "NCCL sends from each rank to each other rank, as a matrix"});
      continue;
    }
    const std::string program = std::string(name) + "_perf";
    all.push_back({program, collective, "", LeftOut::nobody, std::string(name) + ", algorithm chosen by the library"});
    if (collective == Collective::all_reduce)
      for (const auto& [without, end, text] : left_out)
        all.push_back(
            {program + std::string(end), collective, "", without, std::string(name) + " of " + std::string(text)});
    if (is_made_of_sends(collective)) continue;
    for (const std::string_view algorithm : algorithms)
      all.push_back({program + "_" + lower(algorithm), collective, algorithm, LeftOut::nobody,
                     std::string(name) + ", NCCL algorithm " + std::string(algorithm) + " forced"});
  }
  return all;
}

std::vector<CollectiveTestCase> select(bool (*wanted)(const CollectiveTestCase&)) {
  std::vector<CollectiveTestCase> out;
  std::ranges::copy_if(collective_testcases(), std::back_inserter(out), wanted);
  return out;
}

}  // namespace

const std::vector<CollectiveTestCase>& collective_testcases() {
  static const std::vector<CollectiveTestCase> all = make_all();
  return all;
}

std::vector<CollectiveTestCase> named_collectives(std::string_view names) {
  return named_in(collective_testcases(), split(names, ','), &CollectiveTestCase::name);
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

}  // namespace linkmatrix
