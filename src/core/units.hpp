#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace linkmatrix {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

/// Returns the bytes of "512MiB", "64 KiB", "1GiB" or "4096". Throws BadInput naming `option` for other texts and 0.
std::uint64_t parse_size(std::string_view option, std::string_view text);

/// Returns a text such as "512 MiB", in the largest unit that divides the number; otherwise in bytes.
std::string format_size(std::uint64_t bytes);

/// Returns a finite number in [low, high]. Throws BadInput naming `option`.
double parse_number(std::string_view option, std::string_view text, double low, double high);

/// Returns a whole number in [low, high]. Throws BadInput naming `option`.
int parse_count(std::string_view option, std::string_view text, int low, int high);

/// Returns a text in a format of printf, truncated to 159 characters.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// Returns the parts of "a,b,c", including empty parts.
std::vector<std::string> split(std::string_view text, char separator);

/// Joins the parts: "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace linkmatrix
