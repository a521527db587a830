#include "p2p/option_values.hpp"

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

}  // namespace linkmatrix
