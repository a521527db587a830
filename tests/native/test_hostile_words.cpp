#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "measure/simulated_fault.hpp"
#include "mutations.hpp"
#include "p2p/option_values.hpp"
#include "p2p/options.hpp"
#include "program/option_values.hpp"
#include "typed_options.hpp"

namespace linkmatrix {
namespace {

/// What reads a text that somebody typed or a system wrote, and texts that it understands.
struct Reader {
  const char* name;
  std::function<void(const std::string&)> read;
  std::vector<std::string> examples;
};

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
       [](const auto& text) { read_options(text, parse_p2p_options); },
       {"--suite quick --budget 10", "--testcase 0,3 --size 4MiB --samples 9", "--devices 0,1 --no-verify"}},
  };
  return all;
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
      const std::string text = mutated(example, reader.examples, dice);
      ASSERT_EQ(trouble(reader, text), "") << reader.name << " of '" << text << "'";
    }
  }
  for (const std::string& piece : hostile_pieces) {
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
