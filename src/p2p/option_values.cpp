#include "p2p/option_values.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {

std::map<std::string, double> parse_limits(std::string_view text) {
  std::map<std::string, double> limits;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw BadInput("--limit '" + std::string(text) + "': use CLASS=GB/s, such as NV18=450,HOST=63");
    limits[part.substr(0, equals)] = parse_number("--limit", std::string_view(part).substr(equals + 1), 1e-3, 1e6);
  }
  return limits;
}

Engine parse_engine(std::string_view text) {
  for (const Engine engine : {Engine::ce, Engine::sm, Engine::mpi})
    if (text == word(engine)) return engine;
  throw BadInput("unknown engine '" + std::string(text) + "': use ce, sm or mpi");
}

int parse_threads(std::string_view text) {
  const int threads = parse_count("--threads", text, 32, 1024);
  if (threads % 32 != 0) throw BadInput("--threads '" + std::string(text) + "': use a multiple of 32, up to 1024");
  return threads;
}

double parse_duration(std::string_view option, std::string_view text) {
  constexpr double longest = 7 * 86400;
  double seconds = 1;
  for (const auto& [letter, each] : {std::pair{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}})
    if (text.ends_with(letter)) seconds = each;
  const bool has_unit = !text.empty() && std::string_view("smh").find(text.back()) != std::string_view::npos;
  return seconds *
         parse_number(option, has_unit ? text.substr(0, text.size() - 1) : text, 0.001 / seconds, longest / seconds);
}

}  // namespace linkmatrix
