#include "collective/nccl_log.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

int log_file = -1;

/// Returns the text after `mark` in a line, up to a character in `ends`; empty if the line lacks `mark`.
std::string after(std::string_view line, std::string_view mark, std::string_view ends) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_of(ends)));
}

template <class Work>
void each_line(std::string_view text, const Work& work) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    work(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// NCCL's list of algorithms. Up to version 2.24, the log contains indices of this list.
constexpr std::array<std::string_view, 7> listed_algorithms{"Tree",     "Ring", "CollnetDirect", "CollnetChain", "NVLS",
                                                            "NVLSTree", "PAT"};

std::string joined(const std::set<std::string>& words) { return join({words.begin(), words.end()}, ", "); }

}  // namespace

void log_nccl_to_memory() {
  if (log_file >= 0 || std::getenv("NCCL_DEBUG") != nullptr) return;
  log_file = memfd_create("nccl", MFD_CLOEXEC);
  if (log_file < 0) return;
  setenv("NCCL_DEBUG", "INFO", 0);
  setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV,GRAPH,TUNING,P2P", 0);
  setenv("NCCL_DEBUG_FILE", ("/proc/self/fd/" + std::to_string(log_file)).c_str(), 1);
}

std::string nccl_log(std::size_t most) {
  struct stat file {};
  if (log_file < 0 || fstat(log_file, &file) != 0) return "";
  const auto size = static_cast<std::size_t>(file.st_size), from = size > most ? size - most : 0;
  std::string text(size - from, '\0');
  const ssize_t got = pread(log_file, text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::map<std::string, std::string> facts_of_log(std::string_view log) {
  std::set<std::string> rings, trees, transports, environment, networks;
  each_line(log, [&](std::string_view line) {
    if (const auto ring = after(line, "NCCL INFO Ring ", " "); !ring.empty()) rings.insert(ring);
    if (const auto tree = after(line, "NCCL INFO Tree ", " "); !tree.empty()) trees.insert(tree);
    if (line.find("NCCL INFO Channel ") != std::string_view::npos)
      if (const auto transport = after(line, " via ", "\r"); !transport.empty()) transports.insert(transport);
    if (const auto name = after(line, "NCCL INFO NCCL_", " "); !name.empty())
      if (const auto value = after(line, " set by environment to ", "\r"); !value.empty())
        environment.insert("NCCL_" + name + "=" + value.substr(0, value.find_last_not_of(". ") + 1));
    if (const auto network = after(line, "NCCL INFO Using network ", "\r"); !network.empty()) networks.insert(network);
  });
  std::map<std::string, std::string> facts;
  const auto put = [&facts](const std::string& name, const std::string& text) {
    if (!text.empty()) facts["NCCL " + name] = text;
  };
  if (!rings.empty()) put("rings", std::to_string(rings.size()));
  if (!trees.empty()) put("trees", std::to_string(trees.size()));
  put("transports", joined(transports));
  put("network", joined(networks));
  put("environment", joined(environment));
  return facts;
}

std::string last_choice(std::string_view log) {
  const auto at = log.rfind(" -> Algo ");
  if (at == std::string_view::npos) return "";
  const std::string_view line = log.substr(at, log.find('\n', at) - at);
  std::string text = after(line, " -> Algo ", " ");
  if (const auto protocol = after(line, " proto ", " "); !protocol.empty()) text += ", " + protocol;
  if (const auto channels = after(line, "channel{Lo..Hi}={", "}"); !channels.empty()) text += ", channels " + channels;
  return text;
}

/// The log contains an index, or a name such as "NVLS_TREE" for "NVLSTree" of NCCL_ALGO.
bool is_algorithm(const std::string& choice, std::string_view algorithm) {
  const std::string logged = after(choice, "", ",");
  if (logged.size() == 1 && std::isdigit(static_cast<unsigned char>(logged[0])) != 0) {
    const auto number = static_cast<std::size_t>(logged[0] - '0');
    return number < listed_algorithms.size() && listed_algorithms[number] == algorithm;
  }
  const auto plain = [](std::string_view text) {
    std::string out;
    for (const char c : text)
      if (c != '_') out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
  };
  return plain(logged) == plain(algorithm);
}

bool reduces_in_network(const std::string& choice) {
  constexpr std::array in_network{"CollnetDirect", "CollnetChain", "NVLS", "NVLSTree"};
  return std::ranges::any_of(in_network, [&](const char* one) { return is_algorithm(choice, one); });
}

}  // namespace linkmatrix
