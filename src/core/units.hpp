#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linkmatrix {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

/// GB/s = 1e9 bytes a second.
constexpr double gigabytes_per_second(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds * 1e-9;
}

/// Bytes of "512MiB", "64 KiB", "1GiB" or "4096"; throws BadInput naming `option` for anything else or for 0.
std::uint64_t parse_size(std::string_view option, std::string_view text);

/// "512 MiB", or bytes where no suffix divides them.
std::string format_size(std::uint64_t bytes);

/// A finite number in [low, high]; throws BadInput naming `option`.
double parse_number(std::string_view option, std::string_view text, double low, double high);

/// A whole number in [low, high]; throws BadInput naming `option`.
int parse_count(std::string_view option, std::string_view text, int low, int high);

/// "a,b,c" in its parts; empty parts are kept, so that they can be refused.
std::vector<std::string> split(std::string_view text, char separator);

/// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace linkmatrix
