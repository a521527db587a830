#include "device/host/kernel_files.hpp"

#include <algorithm>
#include <fstream>

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_text = 256;  // of a fact: more is none

}  // namespace

std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  const bool printable = std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return printable && line.size() <= most_text ? line : "";
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace linkmatrix
