// `LINKMATRIX_FUZZED=hosts fuzz_readers FOLDER TURNS`: reads each file of the folder, then TURNS mutations of them, the
// same ones each time. It stands in for libFuzzer where the compiler has none, and is no search for new paths.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count);

namespace {

constexpr std::size_t most_bytes = 64 * 1024;
/// What has broken readers before, or could.
const std::array<std::string, 14> pieces{"-1",
                                         "9223372036854775808",
                                         "1e309",
                                         "nan",
                                         std::string(4, '\0'),
                                         "\xff\xff\xff\xff",
                                         "[1-",
                                         "[",
                                         "]",
                                         ":",
                                         ",,",
                                         "=",
                                         "\n",
                                         " "};

std::string mutated(std::string text, const std::vector<std::string>& corpus, std::mt19937_64& dice) {
  for (std::uint64_t times = 1 + dice() % 4; times > 0; --times) {
    const std::size_t at = dice() % (text.size() + 1);
    const std::string& other = corpus[dice() % corpus.size()];
    switch (dice() % 6) {
      case 0:
        text.insert(at, pieces[dice() % pieces.size()]);
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(dice());
        break;
      case 2:
        text.erase(at, 1 + dice() % 8);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, other.substr(dice() % (other.size() + 1), 1 + dice() % 32));
        break;
      default: {
        const std::string piece = text.substr(at, 1 + dice() % 16);
        for (std::uint64_t many = dice() % 200; many > 0 && text.size() < most_bytes; --many) text.insert(at, piece);
      }
    }
  }
  return text;
}

}  // namespace

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
    // on the heap and no longer than it is: what reads beyond its end is seen
    const std::vector<unsigned char> bytes(text.begin(), text.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const std::string& text : corpus) read(text);
  std::mt19937_64 dice(20261123);
  for (long turn = std::atol(words[2]); turn > 0; --turn) read(mutated(corpus[dice() % corpus.size()], corpus, dice));
  return 0;
}
