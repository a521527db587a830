#include "ranks/groups.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>

#include "core/command_line.hpp"
#include "core/error.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t most_hosts = 1'000'000, most_digits = 9;
constexpr std::size_t most_name = 320;  // maximum length of a host name
constexpr std::ptrdiff_t most_brackets = 8;
constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Returns the items between commas outside of brackets.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  bool is_inside = false;
  for (std::size_t k = 0; k <= list.size(); ++k) {
    if (k < list.size() && list[k] == '[') is_inside = true;
    if (k < list.size() && list[k] == ']') is_inside = false;
    if (k < list.size() && (list[k] != ',' || is_inside)) continue;
    items.push_back(trimmed(list.substr(start, k - start)));
    start = k + 1;
  }
  return items;
}

[[noreturn]] void refuse_hosts(std::string_view list) {
  const std::string begin(list.substr(0, 80));
  throw BadInput("'" + begin + (list.size() > begin.size() ? "…" : "") +
                 "' is not a list of hosts: use e.g. n[1-32],n40");
}

std::size_t number_of(std::string_view digits, std::string_view list) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || digits.size() > most_digits || error != std::errc{} || end != digits.data() + digits.size())
    refuse_hosts(list);
  return number;
}

void expand(const std::string& before, std::string_view rest, std::string_view list, std::vector<std::string>& hosts) {
  const auto open = rest.find('[');
  if (open == std::string_view::npos) {
    const std::size_t length = before.size() + rest.size();
    if (rest.find(']') != std::string_view::npos || length == 0 || length > most_name) refuse_hosts(list);
    if (hosts.size() >= most_hosts) throw BadInput("a list contains more than a million hosts");
    hosts.push_back(before + std::string(rest));
    return;
  }
  const auto close = rest.find(']', open);
  if (close == std::string_view::npos || before.size() + open > most_name) refuse_hosts(list);
  const std::string start = before + std::string(rest.substr(0, open));
  for (const std::string_view range : items_of(rest.substr(open + 1, close - open - 1))) {
    const auto dash = range.find('-');
    const std::string_view from = range.substr(0, dash),
                           to = dash == std::string_view::npos ? from : range.substr(dash + 1);
    const std::size_t last = number_of(to, list);
    std::size_t number = number_of(from, list);
    if (number > last || last - number >= most_hosts) refuse_hosts(list);
    for (; number <= last; ++number) {
      const std::string digits = std::to_string(number);
      const std::string zeros(from.size() > digits.size() ? from.size() - digits.size() : 0, '0');
      expand(start + zeros + digits, rest.substr(close + 1), list, hosts);
    }
  }
}

/// Returns "leaf1" and "n[1-32]" of a line; nothing for a switch above other switches, or a group of Slurm's blocks.
std::optional<std::pair<std::string_view, std::string_view>> group_of(std::string_view line) {
  if (line.starts_with("AggregatedBlock=") || line.starts_with("BlockSizes=")) return std::nullopt;
  if (line.find("SwitchName=") == std::string_view::npos && !line.starts_with("BlockName=")) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos)
      throw BadInput("'" + std::string(line.substr(0, 80)) + "' names no group: use e.g. leaf1: n[1-32]");
    return std::pair{trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1))};
  }
  std::string_view name, nodes;
  bool is_leaf = true;
  for (std::size_t at = 0; at < line.size();) {
    const auto end = std::min(line.find_first_of(blanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.starts_with("SwitchName=")) name = word.substr(11);
    if (word.starts_with("BlockName=")) name = word.substr(10);
    if (word.starts_with("Nodes=")) nodes = word.substr(6);
    if (word.starts_with("Switches=") && word.size() > 9) is_leaf = false;
    at = std::min(line.find_first_not_of(blanks, end), line.size());
  }
  if (!is_leaf || nodes.empty() || nodes == "(null)") return std::nullopt;  // a block of Slurm may have no nodes
  return std::pair{name, nodes};
}

bool is_label(std::string_view name) {
  const auto is_usual = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._@+-").find(c) != std::string_view::npos;
  };
  return !name.empty() && std::isalnum(static_cast<unsigned char>(name.front())) && name.size() <= 320 &&
         std::all_of(name.begin(), name.end(), is_usual);
}

}  // namespace

std::vector<std::string> expanded_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view item : items_of(list)) {
    if (std::ranges::count(item, '[') > most_brackets) refuse_hosts(list);  // limits the depth of the recursion
    expand("", item, list, hosts);
  }
  return hosts;
}

std::map<std::string, std::string> parse_groups(std::string_view text) {
  std::map<std::string, std::string> groups;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view content = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) continue;
    try {
      const auto group = group_of(content);
      if (!group) continue;
      if (!is_label(group->first))
        throw BadInput("'" + std::string(group->first.substr(0, 80)) + "' is not a valid name of a group");
      for (const std::string& host : expanded_hosts(group->second))
        if (const auto [at, is_new] = groups.try_emplace(host, group->first); !is_new && at->second != group->first)
          throw BadInput(host + " is in " + at->second + " and in " + std::string(group->first));
    } catch (const BadInput& error) {
      throw BadInput("line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (groups.empty())
    throw BadInput("no line names a group: use lines such as leaf1: n[1-32], or Slurm's topology.conf");
  return groups;
}

std::map<std::string, std::string> read_groups(const std::filesystem::path& file) {
  const std::string text = text_of_file("--groups", file, "the groups of the nodes");
  try {
    return parse_groups(text);
  } catch (const BadInput& refusal) {
    throw BadInput("--groups " + file.string() + ": " + refusal.what());
  }
}

std::vector<std::string> groups_of(const std::vector<std::string>& nodes,
                                   const std::map<std::string, std::string>& groups) {
  std::vector<std::string> found;
  for (const std::string& node : nodes) {
    auto at = groups.find(node);
    if (at == groups.end()) at = groups.find(node.substr(0, node.find('.')));  // schedulers write short names
    if (at == groups.end())
      throw BadInput("--groups: " + node + " is in no group: add each node of the job to a group");
    found.push_back(at->second);
  }
  if (std::set<std::string>(found.begin(), found.end()).size() < 2)
    throw BadInput("--groups: all nodes of the job are in " + found.front() + ": omit --groups");
  return found;
}

}  // namespace linkmatrix::ranks
