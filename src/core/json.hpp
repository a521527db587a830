#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/matrix.hpp"

namespace linkmatrix {

/// Writes JSON to a string. Numbers that are not finite become null. Bytes that are not valid UTF-8 become U+FFFD.
/// Separators are inserted automatically. (No JSON library, so that the programs build without a download.)
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number) { return number_of(number, 9); }
  /// Writes a number with `digits` significant digits.
  JsonWriter& number_of(double number, int digits);
  JsonWriter& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
  template <std::integral I>
  requires(!std::same_as<I, bool>) JsonWriter& value(I number) { return raw(std::to_string(number)); }
  JsonWriter& null() { return raw("null"); }
  /// Inserts a value that is already JSON text.
  JsonWriter& json(std::string_view text) { return raw(text); }

  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  template <class T>
  JsonWriter& value(const std::vector<T>& items) {
    begin_array();
    for (const auto& item : items) value(item);
    return end_array();
  }
  /// Writes an array of rows. `write_cell(writer, cell)` writes one cell.
  template <class T, class WriteCell>
  JsonWriter& matrix(const Matrix<T>& m, WriteCell write_cell) {
    begin_array();
    for (std::size_t r = 0; r < m.rows(); ++r) {
      begin_array();
      for (std::size_t c = 0; c < m.columns(); ++c) write_cell(*this, m(r, c));
      end_array();
    }
    return end_array();
  }
  template <class T>
  JsonWriter& value(const Matrix<T>& m) {
    return matrix(m, [](JsonWriter& w, const T& cell) { w.value(cell); });
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  std::string text() const { return out_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();

  std::string out_;
  bool first_ = true;  ///< whether the innermost bracket is still empty
  bool after_key_ = false;
};

}  // namespace linkmatrix
