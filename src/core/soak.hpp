#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "core/json.hpp"
#include "core/matrix.hpp"

namespace linkmatrix {

/// The values of one cell over a soak, in a bounded room.
struct Series {
  struct Bin {
    std::uint64_t count = 0;
    double mean = 0;
  };
  std::uint64_t count = 0;
  double mean = 0, m2 = 0;  ///< m2: sum of the squared deviations from the mean (Welford, 1962)
  double least = 0, most = 0;
  double first_at = 0, worst_at = 0;  ///< seconds after the soak began; the worst is the least, of a latency the most
  std::vector<Bin> bins;              ///< equal parts of the time that was asked for

  /// A value at a share of the time that was asked for, 0 to 1; later ones belong to the last bin.
  void add(double value, double at, double share, bool high_is_bad);
};

/// What a soak (--soak) found: the test cases again and again while devices were heated.
struct Soak {
  static constexpr std::size_t bins = 60, most_events = 200;

  struct Cells {
    std::string testcase, unit;
    std::uint64_t size_bytes = 0;
    std::vector<std::string> rows, columns;
    Matrix<Series> series;
  };
  struct Device {
    std::string label;
    std::uint64_t products = 0, wrong = 0;  ///< matrix products that heated it; of which a bit was wrong
  };
  struct Event {
    double at;  ///< seconds after the soak began
    std::string text;
  };
  double asked = 0, seconds = 0;
  std::uint64_t passes = 0;    ///< over all test cases that came to their end
  std::uint64_t failures = 0;  ///< cells that were not measured well, of all passes, and bursts of wrong products
  std::vector<Cells> matrices;
  std::vector<Device> heated;
  std::vector<Event> events;  ///< the first of them
  std::uint64_t events_left_out = 0;
  std::optional<Activity> others;  ///< what they did meanwhile

  void note(double at, std::string text);
};

/// What is printed of it.
std::string soak_text(const Soak& soak);

void write_soak(JsonWriter& writer, const Soak& soak);

}  // namespace linkmatrix
