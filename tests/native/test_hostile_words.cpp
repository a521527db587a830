#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/option_values.hpp"
#include "p2p/options.hpp"
#include "program/option_values.hpp"

namespace linkmatrix {
namespace {

/// What reads a text that somebody typed or a system wrote, and texts that it understands.
struct Reader {
  const char* name;
  std::function<void(const std::string&)> read;
  std::vector<std::string> examples;
};

void parse_words(const std::string& text) {
  std::vector<std::string> words{"p2p_matrix"};
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  parse_p2p_options(arguments);
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{
      {"parse_size", [](const auto& text) { parse_size("--size", text); }, {"4MiB", "1GB", "65536", "1.5KiB"}},
      {"parse_message", [](const auto& text) { parse_message("--size", text); }, {"0", "8", "4MiB"}},
      {"parse_number", [](const auto& text) { parse_number("--max-time", text, 0, 1e6); }, {"0.25", "1e3", "10"}},
      {"parse_count", [](const auto& text) { parse_count("--samples", text, 1, 1000); }, {"1", "1000", "7"}},
      {"parse_devices", [](const auto& text) { parse_devices(text); }, {"0", "0,2,5", "7,1"}},
      {"parse_sweep", [](const auto& text) { parse_sweep(text); }, {"1KiB:64MiB:4", "8:4MiB", "1:1:2"}},
      {"parse_random", [](const auto& text) { parse_random(text, 1); }, {"5:1KiB:1MiB", "1:8:8"}},
      {"parse_limits", [](const auto& text) { parse_limits(text); }, {"NV18=450,HOST=55", "NET=12.5"}},
      {"parse_threads", [](const auto& text) { parse_threads(text); }, {"32", "1024"}},
      {"parse_simulated_fault",
       [](const auto& text) { parse_simulated_fault(text); },
       {"slow:gpu1", "hang:gpu1->gpu2"}},
      {"parse_p2p_options",
       [](const auto& text) { parse_words(text); },
       {"--suite quick --budget 10", "--testcase 0,3 --size 4MiB --samples 9", "--devices 0,1 --no-verify"}},
  };
  return all;
}

/// What has broken readers before, or could.
const std::array<std::string, 16> pieces{"",
                                         "-1",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "1e309",
                                         "nan",
                                         "inf",
                                         std::string("\0", 1),
                                         "\xff\xfe\n",
                                         "%s%n",
                                         ",,",
                                         "0-18446744073709551615",
                                         "[1-",
                                         ":",
                                         "../",
                                         "99999999999999999999GiB"};

std::string spoilt(std::string text, std::mt19937_64& dice) {
  for (std::uint64_t times = 1 + dice() % 3; times > 0; --times) {
    const std::size_t at = dice() % (text.size() + 1);
    switch (dice() % 4) {
      case 0:
        text.insert(at, pieces[dice() % pieces.size()]);
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(dice());
        break;
      case 2:
        text.erase(at, 1 + dice() % 4);
        break;
      default:
        text.insert(at, text.substr(at, 8));
    }
  }
  return text;
}

/// "" where a text is read or refused in a sentence; what else came of it otherwise.
std::string trouble(const Reader& reader, const std::string& text) {
  try {
    reader.read(text);
  } catch (const BadInput& refused) {
    return *refused.what() == '\0' ? "it was refused without a word" : "";
  } catch (const std::exception& other) {
    return std::string("it ended with ") + other.what();
  }
  return "";
}

class HostileWords : public testing::TestWithParam<std::size_t> {};

TEST_P(HostileWords, AreReadOrRefusedInASentence) {
  const Reader& reader = readers()[GetParam()];
  std::mt19937_64 dice(20261123);
  for (const std::string& example : reader.examples) {
    EXPECT_EQ(trouble(reader, example), "") << example;
    for (int turn = 0; turn < 2000; ++turn) {
      const std::string text = spoilt(example, dice);
      ASSERT_EQ(trouble(reader, text), "") << reader.name << " of '" << text << "'";
    }
  }
  for (const std::string& piece : pieces) {
    ASSERT_EQ(trouble(reader, piece), "") << reader.name << " of '" << piece << "'";
    std::string many;
    while (many.size() < 100'000) many += piece.empty() ? "a" : piece;
    ASSERT_EQ(trouble(reader, many), "") << reader.name << " of many '" << piece << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, HostileWords, testing::Range<std::size_t>(0, readers().size()),
                         [](const auto& of) { return std::string(readers()[of.param].name); });

}  // namespace
}  // namespace linkmatrix
