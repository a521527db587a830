#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "core/json.hpp"
#include "core/matrix.hpp"

namespace linkmatrix {

/// Statistics of one cell over a soak, in constant memory.
struct Series {
  struct Bin {
    std::uint64_t count = 0;
    double mean = 0;
  };
  std::uint64_t count = 0;
  double mean = 0, m2 = 0;  ///< m2: sum of the squared deviations from the mean (Welford, 1962)
  double least = 0, most = 0;
  double first_at = 0;    ///< time of the first value, in seconds after the start
  double worst_at = 0;    ///< time of the smallest rate or largest latency
  std::vector<Bin> bins;  ///< equal parts of the requested time

  /// Adds a value. at: seconds after the start. share: `at` divided by the requested time; 1 or more: the last bin.
  /// high_is_bad: whether the value is a latency.
  void add(double value, double at, double share, bool high_is_bad);
};

/// Result of a soak (--soak), which repeats test cases while the devices are heated.
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
    std::uint64_t products = 0, wrong = 0;  ///< number of matrix products; number of products with a wrong bit
  };
  struct Event {
    double at;  ///< seconds after the start of the soak
    std::string text;
  };
  double asked = 0, seconds = 0;  ///< requested and actual duration
  std::uint64_t passes = 0;       ///< completed passes over all test cases
  std::uint64_t failures = 0;     ///< cells without a valid value in all passes, plus bursts with wrong products
  std::vector<Cells> matrices;
  std::vector<Device> heated;
  std::vector<Event> events;  ///< the first `most_events` events
  std::uint64_t events_left_out = 0;
  std::optional<Activity> others;  ///< usage by other processes during the soak

  void note(double at, std::string text);
};

/// Returns the printed summary of a soak.
std::string soak_text(const Soak& soak);

void write_soak(JsonWriter& writer, const Soak& soak);

}  // namespace linkmatrix
