#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// Texts one after the other, each with its length before it; numbers are texts too.
class TextWriter {
 public:
  using Length = std::uint32_t;

  void text(const std::string& text) {
    const auto length = static_cast<Length>(text.size());
    append(&length, sizeof length);
    append(text.data(), text.size());
  }
  template <class Number>
  void number(Number number) {
    text(std::to_string(number));
  }
  template <class Number>
  void optional_number(std::optional<Number> value) {
    value ? number(*value) : text("");
  }
  void facts(const FactTexts& facts) {
    number(facts.size());
    for (const auto& [name, fact] : facts) text(name), text(fact);
  }
  void counts(const std::map<std::string, double>& counts) {
    number(counts.size());
    for (const auto& [name, count] : counts) text(name), number(count);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
  }

  std::vector<std::byte> bytes_;
};

/// The same back. Throws DeviceError where the bytes are not whole.
class TextReader {
 public:
  explicit TextReader(std::span<const std::byte> bytes) : rest_{bytes} {}

  std::string text() {
    TextWriter::Length length = 0;
    std::memcpy(&length, take(sizeof length).data(), sizeof length);
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class Number>
  Number number() {
    const std::string digits = text();
    Number number{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure != std::errc{} || end != digits.data() + digits.size()) fail();
    return number;
  }
  template <class Number>
  std::optional<Number> optional_number() {
    if (TextReader ahead(rest_); ahead.text().empty()) {
      *this = ahead;
      return std::nullopt;
    }
    return number<Number>();
  }
  FactTexts facts() {
    FactTexts facts;
    for (auto left = number<std::size_t>(); left > 0; --left) {
      const std::string name = text();
      facts[name] = text();
    }
    return facts;
  }
  std::map<std::string, double> counts() {
    std::map<std::string, double> counts;
    for (auto left = number<std::size_t>(); left > 0; --left) {
      const std::string name = text();
      counts[name] = number<double>();
    }
    return counts;
  }
  void end() const {
    if (!rest_.empty()) fail();
  }

 private:
  [[noreturn]] static void fail() { throw DeviceError("what a rank says did not arrive whole"); }

  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > rest_.size()) fail();
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }

  std::span<const std::byte> rest_;
};

}  // namespace linkmatrix::ranks
