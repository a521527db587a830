#include "core/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace linkmatrix {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

/// Splits a range into whole words and the bytes before and after them.
template <class OnByte, class OnWord>
void walk(std::uint64_t offset, std::uint64_t bytes, const OnByte& on_byte, const OnWord& on_word) {
  const std::uint64_t end = offset + bytes;
  std::uint64_t at = offset;
  for (; at < end && at % word_bytes != 0; ++at) on_byte(at);
  for (; at + word_bytes <= end; at += word_bytes) on_word(at);
  for (; at < end; ++at) on_byte(at);
}

}  // namespace

void fill_pattern(std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed) {
  walk(
      offset, bytes, [&](std::uint64_t at) { memory[at] = pattern_byte(seed, at); },
      [&](std::uint64_t at) {
        const std::uint64_t word = pattern_word(seed, at / word_bytes);
        std::memcpy(memory + at, &word, word_bytes);
      });
}

PatternCheck check_pattern(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead) {
  PatternCheck found;
  const auto compare_byte = [&](std::uint64_t at) {
    if (memory[at - ahead] == pattern_byte(seed, at)) return;
    if (found.wrong_bytes++ == 0) found.first_wrong = at - ahead;
  };
  walk(offset + ahead, bytes, compare_byte, [&](std::uint64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory + at - ahead, word_bytes);
    if (word == pattern_word(seed, at / word_bytes)) return;
    for (std::uint64_t i = at; i < at + word_bytes; ++i) compare_byte(i);
  });
  return found;
}

PatternCheck check_portion(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead, const Portion& portion) {
  if (portion.every == 1) return check_pattern(memory, offset, bytes, seed, ahead);
  PatternCheck all;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t block = at / Portion::block_bytes, next = std::min(end, (block + 1) * Portion::block_bytes);
    if (block % portion.every == portion.first) {
      const PatternCheck found = check_pattern(memory, at, next - at, seed, ahead);
      if (all.wrong_bytes == 0) all.first_wrong = found.first_wrong;
      all.wrong_bytes += found.wrong_bytes;
    }
    at = next;
  }
  return all;
}

}  // namespace linkmatrix
