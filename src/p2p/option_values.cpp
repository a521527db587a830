#include <algorithm>
#include <utility>

#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "p2p/options.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {
namespace {

void refuse_contradictions(const P2pOptions& o) {
  Axes axes = o.axes;
  if (!o.named.empty() || o.suite) axes.memory.reset();  // then --memory sets the memory of ranks
  const int selections = !o.named.empty() + o.suite.has_value() + axes.any();
  if (o.plan.host_pages == HostPages::pageable && (!o.blocks.empty() || o.plan.threads > 0))
    throw BadInput(
        "--blocks and --threads apply to kernels, and kernels cannot access pageable memory: use --host-memory pinned");
  if (o.sweep && o.blocks.size() > 1) throw BadInput("--sweep varies the size: give only one number of --blocks");
  if (o.soak > 0 && o.budget) throw BadInput("--soak sets the duration of the run: omit --budget");
  if (selections > 1)
    throw BadInput("test cases are selected twice: use either --testcase, --suite, or options such as --engine");
}

/// Derives the time limit of the run from --budget or --soak if --timeout was not given, for devices that hang.
void set_limits(P2pOptions& o) {
  if (o.soak > 0 && !o.is_given("--timeout")) o.timeout += o.soak;
  if (!o.budget) return;
  if (!o.is_given("--max-time")) o.measure.max_seconds = std::min(o.measure.max_seconds, *o.budget);
  if (!o.is_given("--timeout")) o.timeout = *o.budget + time_beyond_budget;
}

}  // namespace

void complete(P2pOptions& options) {
  refuse_contradictions(options);
  set_limits(options);
}

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
