#include "device/host/numa.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "core/units.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr auto node_folder = "/sys/devices/system/node";

constexpr int core_numbers = 1 << 16;  // more than any kernel supports (x86: 8,192)

int parse_core(const std::string& text) {
  int core = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (failure != std::errc{} || end != text.data() + text.size() || core < 0)
    throw std::invalid_argument("'" + text + "' is not a core");
  return core;
}

/// Returns the allowed cores of a node; empty if its file is not readable.
std::vector<int> allowed_of(const fs::path& node, const std::vector<int>& allowed) {
  std::string text;
  std::getline(std::ifstream(node / "cpulist"), text);
  std::vector<int> cores;
  if (text.empty()) return cores;
  for (const int core : parse_cpu_list(text))
    if (std::find(allowed.begin(), allowed.end(), core) != allowed.end()) cores.push_back(core);
  return cores;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cores;
  for (const std::string& range : split(text, ',')) {
    const auto ends = split(range, '-');
    if (ends.size() > 2) throw std::invalid_argument("'" + range + "' is not a range of cores");
    const int first = parse_core(ends.front()), last = parse_core(ends.back());
    if (last >= core_numbers) throw std::invalid_argument("'" + range + "' has more cores than a kernel supports");
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::string cpu_list_text(const std::vector<int>& cores) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    ranges.push_back(std::to_string(cores[i]) + (last > i ? "-" + std::to_string(cores[last]) : ""));
    i = last + 1;
  }
  return join(ranges, ",");
}

CoreSet allowed_set() {
  CoreSet set;
  ::sched_getaffinity(0, sizeof set, set.words.data());
  return set;
}

std::vector<int> CoreSet::cores() const {
  std::vector<int> found;
  for (int core = 0; core < most; ++core)
    if (CPU_ISSET_S(core, sizeof words, words.data())) found.push_back(core);
  return found;
}

std::vector<NumaNode> numa_nodes() {
  std::vector<int> allowed = allowed_set().cores();
  if (allowed.empty()) allowed = {0};
  std::vector<NumaNode> nodes;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(node_folder, missing)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
    NumaNode node{std::stoi(name.substr(4)), allowed_of(entry.path(), allowed)};
    if (!node.cores.empty()) nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(), [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  if (nodes.empty()) nodes.push_back({0, allowed});
  return nodes;
}

std::vector<Endpoint> host_memory_endpoints(const std::vector<NumaNode>& nodes) {
  const std::string node_name = host_name();
  std::vector<Endpoint> endpoints;
  for (const NumaNode& node : nodes) {
    Endpoint endpoint;
    endpoint.kind = EndpointKind::host;
    endpoint.index = endpoint.numa = node.id;
    endpoint.label = "numa" + std::to_string(node.id);
    endpoint.name = "memory of NUMA node " + std::to_string(node.id);
    endpoint.node = node_name;
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

void pin_thread(const std::vector<int>& cores) {
  if (cores.empty()) return;
  CoreSet set;
  for (const int core : cores) CPU_SET_S(core, sizeof set.words, set.words.data());
  ::sched_setaffinity(0, sizeof set, set.words.data());
}

NumaPin::NumaPin(int node) : before_{allowed_set()} {
  for (const NumaNode& known : numa_nodes())
    if (known.id == node) pin_thread(known.cores);
}

NumaPin::~NumaPin() { pin_thread(before_.cores()); }

}  // namespace linkmatrix
