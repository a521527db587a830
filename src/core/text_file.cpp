#include "core/text_file.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr std::uintmax_t most_bytes = 64 << 20;

}  // namespace

std::string text_of_file(std::string_view option, const std::filesystem::path& file, std::string_view what) {
  const std::string said = std::string(option) + " " + file.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > most_bytes)
    throw BadInput(said + " is no file that can be read: name one with " + std::string(what));
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw BadInput(said + " cannot be read");
  return text;
}

}  // namespace linkmatrix
