#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

namespace linkmatrix {

/// Texts that have broken readers, or could.
inline const std::array<std::string, 23> hostile_pieces{"",
                                                        "-1",
                                                        "9223372036854775808",
                                                        "18446744073709551616",
                                                        "1e309",
                                                        "nan",
                                                        "inf",
                                                        std::string("\0", 1),
                                                        std::string(4, '\0'),
                                                        "\xff\xff\xff\xff",
                                                        "\xff\xfe\n",
                                                        "%s%n",
                                                        ",,",
                                                        "0-18446744073709551615",
                                                        "[1-",
                                                        "[",
                                                        "]",
                                                        ":",
                                                        "=",
                                                        "../",
                                                        "99999999999999999999GiB",
                                                        "\n",
                                                        " "};

/// Returns a text with one to four mutations: a hostile piece, a byte, a cut, a part of another text of the corpus, or
/// a part of itself repeated. Equal random states give equal texts.
inline std::string mutated(std::string text, const std::vector<std::string>& corpus, std::mt19937_64& dice) {
  constexpr std::size_t most_bytes = 64 * 1024;
  for (std::uint64_t times = 1 + dice() % 4; times > 0; --times) {
    const std::size_t at = dice() % (text.size() + 1);
    const std::string& other = corpus[dice() % corpus.size()];
    switch (dice() % 6) {
      case 0:
        text.insert(at, hostile_pieces[dice() % hostile_pieces.size()]);
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

}  // namespace linkmatrix
