// `LINKMATRIX_FUZZED=hosts fuzz_readers FOLDER TURNS` reads each file of the folder, then TURNS mutations of these
// files, the same in every run. It replaces libFuzzer for compilers without it, and does not search for new paths.
#include "../mutations.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count);

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "fuzz_readers FOLDER TURNS\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s is empty\n", words[1]);
    return 2;
  }
  const auto read = [](const std::string& text) {
    // on the heap and with exact size, so that sanitizers detect a read beyond the end
    const std::vector<unsigned char> bytes(text.begin(), text.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const std::string& text : corpus) read(text);
  std::mt19937_64 dice(20261123);
  for (long turn = std::atol(words[2]); turn > 0; --turn)
    read(linkmatrix::mutated(corpus[dice() % corpus.size()], corpus, dice));
  return 0;
}
