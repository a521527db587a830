#include "core/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// Valid bytes after the first byte of a UTF-8 character: the second byte has its own range, later bytes 0x80 to 0xbf.
/// The ranges exclude overlong encodings, surrogates, and values above U+10FFFF (Unicode 15, table 3-7).
struct Utf8Form {
  unsigned char first_low, first_high, second_low, second_high;
  std::size_t bytes;
};

constexpr Utf8Form utf8_forms[]{
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

struct Utf8Head {
  std::size_t bytes;
  bool whole;  ///< a character; else the beginning of one, or a byte that begins none
};

/// Returns the first character of a text that does not start with ASCII: its length in bytes, and whether it is a whole
/// character.
Utf8Head utf8_head(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Utf8Form& form : utf8_forms) {
    if (byte(0) < form.first_low || byte(0) > form.first_high) continue;
    for (std::size_t i = 1; i < form.bytes; ++i) {
      const unsigned char low = i == 1 ? form.second_low : 0x80, high = i == 1 ? form.second_high : 0xbf;
      if (i == text.size() || byte(i) < low || byte(i) > high) return {i, false};
    }
    return {form.bytes, true};
  }
  return {1, false};
}

std::string escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) return {c};
  return formatted("\\u%04x", static_cast<unsigned>(c));
}

}  // namespace

void JsonWriter::separate() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::number_of(double number, int digits) {
  if (!std::isfinite(number)) return null();
  std::array<char, 40> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits).ptr;
  return raw({text.data(), static_cast<std::size_t>(end - text.data())});
}

JsonWriter& JsonWriter::value(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    std::size_t bytes = 1;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      quoted += escaped(text.front());
    } else {
      const Utf8Head head = utf8_head(text);
      bytes = head.bytes;
      quoted += head.whole ? text.substr(0, bytes) : replacement;
    }
    text.remove_prefix(bytes);
  }
  return raw(quoted + '"');
}

}  // namespace linkmatrix
