#include "core/cpu_list.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr int most_cores = 1 << 16;  // no kernel counts as many: 8,192 on x86

int parse_core(const std::string& text) {
  int core = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (failure != std::errc{} || end != text.data() + text.size() || core < 0)
    throw std::invalid_argument("'" + text + "' is no core");
  return core;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cores;
  for (const std::string& range : split(text, ',')) {
    const auto ends = split(range, '-');
    if (ends.size() > 2) throw std::invalid_argument("'" + range + "' is no range of cores");
    const int first = parse_core(ends.front()), last = parse_core(ends.back());
    if (last >= most_cores) throw std::invalid_argument("'" + range + "' has more cores than any kernel");
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

std::vector<int> cores_in(const std::string& text) {
  try {
    return parse_cpu_list(text);
  } catch (const std::invalid_argument&) {
    return {};
  }
}

bool share_a_core(const std::vector<int>& some, const std::vector<int>& others) {
  for (auto one = some.begin(), other = others.begin(); one != some.end() && other != others.end();) {
    if (*one == *other) return true;
    *one < *other ? ++one : ++other;
  }
  return false;
}

}  // namespace linkmatrix
