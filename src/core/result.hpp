#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/activity.hpp"
#include "core/matrix.hpp"
#include "core/soak.hpp"
#include "core/topology.hpp"
#include "core/words.hpp"

namespace linkmatrix {

/// Status of a cell. partial: the value covers only some of the cell's copies, because an endpoint was lost; such a
/// value does not count as measured.
enum class CellStatus { ok, not_applicable, no_peer_access, timeout, error, corrupt, not_run, partial };

template <>
struct Words<CellStatus> {
  static constexpr std::string_view name = "status";
  static constexpr std::array table{std::pair{CellStatus::ok, "ok"},
                                    std::pair{CellStatus::not_applicable, "not-applicable"},
                                    std::pair{CellStatus::no_peer_access, "no-peer-access"},
                                    std::pair{CellStatus::timeout, "timeout"},
                                    std::pair{CellStatus::error, "error"},
                                    std::pair{CellStatus::corrupt, "corrupt"},
                                    std::pair{CellStatus::not_run, "not-run"},
                                    std::pair{CellStatus::partial, "partial"}};
};

using Values = Matrix<std::optional<double>>;

/// Maximum number of rows of a matrix whose samples go into the record. 64 × 64 cells with 28 samples are 1 MB of text.
constexpr std::size_t most_sampled = 64;

/// A further matrix with the same rows and columns, e.g. one direction of a bidirectional matrix.
struct Part {
  std::string title;
  std::string unit;
  Values values;
};

/// Order and concurrency of the cells.
struct Schedule {
  bool at_once = false;    ///< whether rounds measured several pairs concurrently
  bool bisection = false;  ///< whether only pairs between the two halves of the nodes were measured
  bool matchings = false;  ///< whether only the cells of MatrixResult::matchings were measured
  std::size_t rounds = 0;
  std::size_t pairs_at_once = 0;
  /// Upper limit of the effect of concurrent pairs on the values, as a fraction: the largest |concurrent / alone − 1|
  /// of the compared cells in accepted rounds. With matchings it is the median. 0: concurrent pairs disturbed each
  /// other, so no cells were measured concurrently. Nothing: not compared.
  std::optional<double> interference;
  std::size_t controlled_rounds = 0;  ///< number of rounds that a control measurement of one cell alone confirmed
};

/// Amount of compared data, and results of the comparison.
struct Coverage {
  std::uint64_t transfers = 0;           ///< number of transfers in samples
  std::uint64_t compared_transfers = 0;  ///< number of compared transfers: the last transfer of each sample
  double compared_share = 0;             ///< compared fraction of their bytes, summed over these transfers
  std::uint64_t samples = 0;             ///< number of compared samples
  std::uint64_t wrong_samples = 0;       ///< number of samples with wrong data

  Coverage& operator+=(const Coverage& other) {
    transfers += other.transfers;
    compared_transfers += other.compared_transfers;
    compared_share += other.compared_share;
    samples += other.samples;
    wrong_samples += other.wrong_samples;
    return *this;
  }
};

/// Returns e.g. "3 of 66 samples: ".
inline std::string wrong_samples_text(const Coverage& coverage) {
  return std::to_string(coverage.wrong_samples) + " of " + std::to_string(coverage.samples) + " samples: ";
}

/// Result of a remeasurement. intermittent: only some of the repeated measurements are slow, and the used value is
/// slow.
enum class Outcome { reproduced, intermittent, not_reproduced };

template <>
struct Words<Outcome> {
  static constexpr std::string_view name = "outcome";
  static constexpr std::array table{std::pair{Outcome::reproduced, "reproduced"},
                                    std::pair{Outcome::intermittent, "intermittent"},
                                    std::pair{Outcome::not_reproduced, "not-reproduced"}};
};

/// A cell that was measured again: its value in the matrix, and the median of the repeated measurements.
struct Remeasured {
  std::size_t row, column;
  double before, after;
  std::optional<Outcome> outcome{};  ///< set for outliers, not for control cells
};

/// Short samples of each cell, in passes spread over the time of the matrix. Short samples are compared only with each
/// other.
struct ShortSampleSet {
  struct Pass {
    double began = 0, ended = 0;         ///< seconds after the start of the matrix
    Matrix<std::vector<double>> values;  ///< samples of each cell, in the order of time
  };
  int asked = 0;            ///< requested number per cell
  std::uint64_t bytes = 0;  ///< bytes of one copy
  int transfers = 0;        ///< transfers per sample; for latencies, accesses or messages
  std::vector<Pass> passes;
};

/// Result of --concurrency matchings, which measures only few cells; in the order of time.
struct Matchings {
  struct Matching {
    Purpose purpose;
    bool alone = false;                      ///< whether only its pairs exchanged data, not all endpoints
    std::vector<std::size_t> rows, columns;  ///< cells of the matching
  };
  std::uint32_t seed = 0;
  double pause = 0;  ///< pause before the confirming matchings, in seconds
  std::vector<Matching> drawn;
  std::vector<std::string> open;  ///< endpoints that were still suspected at the end
  /// Group of each endpoint, such as its leaf switch. Empty: no groups were given. With groups, all matchings are
  /// inside groups.
  std::vector<std::string> groups;
  /// Rates between two groups whose endpoints exchange data concurrently.
  struct Crossing {
    std::string from, to;
    std::size_t pairs;
    double rate;  ///< mean rate per pair
    double best;  ///< rate of the fastest pair
    bool few;     ///< whether only a few pairs per two groups exchanged data; else all endpoints
  };
  std::vector<Crossing> crossings;
  /// An endpoint that is slow with all partners.
  struct SlowEndpoint {
    std::size_t endpoint;
    bool sends, receives;               ///< the slow directions
    double shift;                       ///< median deviation of the speed of its slow cells, as a fraction; negative
    std::size_t slow, cells;            ///< slow cells and cells before the pause
    std::size_t slow_again, confirmed;  ///< slow matchings and matchings after the pause
    bool is_reproduced() const { return slow_again >= std::min<std::size_t>(2, confirmed); }
  };
  /// All pairs are slower with full traffic than with little traffic, and chance does not explain the difference.
  struct SharedBottleneck {
    double loss;                   ///< median over the compared cells, as a fraction
    std::size_t slower, compared;  ///< cells that were slower with full traffic, and compared cells
  };
  std::optional<SharedBottleneck> shared_bottleneck;
  std::vector<SlowEndpoint> slow_endpoints;          ///< empty if all pairs share a bottleneck
  std::vector<std::size_t> slow_rows, slow_columns;  ///< all slow cells
};

/// Summary of a matrix that is too large for the record. Its cells are in a separate file.
struct CellSummary {
  struct Class {
    std::string name;
    std::uint64_t measured;
    double least, median, most;
    std::string transport{};  ///< transport of all its cells
  };
  std::string file;                   ///< name of the file, without folder
  std::vector<std::string> statuses;  ///< names of the status numbers in the file
  std::vector<std::uint64_t> counts;  ///< number of cells per status
  std::vector<Class> classes;
  std::vector<double> row_medians, column_medians;  ///< medians; 0: nothing was measured
};

/// Description of a matrix, constant during the measurement. Rows are sources, columns are destinations.
struct MatrixDescription {
  std::string testcase;
  Metric metric = Metric::bandwidth;
  std::string quantity;  ///< meaning of a value: "bandwidth", "sum of both directions", "load latency" …
  Direction direction = Direction::write;
  Engine engine = Engine::ce;
  std::optional<Kernel> kernel;
  Memory memory = Memory::device;
  std::string transport;           ///< "auto": see transports
  Matrix<std::string> transports;  ///< transport of each pair of ranks if transports differ; else empty
  std::optional<bool> peer_access;
  std::string unit;  ///< "GB/s" or "us"
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;             ///< offset of the data in the buffers
  int blocks = 0, threads = 0;          ///< requested launch shape; 0: default of the back end
  std::optional<HostPages> host_pages;  ///< pages of the host memory used; nothing: no host memory
  int pairs = 0;                        ///< number of rank pairs per cell if nodes have more ranks; else 0
  bool triangle = false;                ///< whether cells below the diagonal are excluded
  bool local_copy = false;              ///< whether the diagonal is measured: each device with itself
  bool verify = true;                   ///< whether data is compared
  std::vector<std::string> rows, columns;
  Matrix<std::string> link_class;
};

/// One measured matrix, without any judgement.
struct MatrixResult : MatrixDescription {
  Values values, low, high;
  Matrix<CellStatus> status;
  Matrix<std::optional<int>> samples;
  Matrix<std::optional<bool>> converged;
  Matrix<std::optional<std::uint32_t>> round;  ///< last round of the cell, from 0
  Values began, ended;  ///< start and end of the last measurement, in seconds after the start of the matrix
  Matrix<std::vector<double>> sampled;          ///< all samples; empty for matrices with more than `most_sampled` rows
  std::optional<ShortSampleSet> short_samples;  ///< nothing: not requested
  Values limit;
  std::map<std::string, Part> parts;
  std::optional<CellSummary> large;  ///< summary of a large matrix, whose matrices above are empty

  std::size_t cells_verified = 0;
  std::map<std::string, double> targets;  ///< target of the relative half width of a median's interval, per link class
  Coverage coverage;                      ///< coverage of all cells
  std::map<std::pair<std::size_t, std::size_t>, Coverage> corrupted;  ///< coverage of each cell with a wrong sample
  Schedule schedule;
  std::vector<Remeasured> remeasured;       ///< outliers, measured again alone
  std::vector<Remeasured> controls;         ///< control cells: healthy cells, measured again in the same way
  double control_change = 0;                ///< median worsening of control cells as a fraction; 0: within the noise
  std::optional<Matchings> matchings{};     ///< set with --concurrency matchings, which measures only some cells
  std::string timing;                       ///< how copies are started and timed; see device/backend.hpp
  std::optional<double> clock_uncertainty;  ///< maximum difference of the clocks of two copies of a cell, in seconds
  double seconds = 0;
  std::vector<std::string> notes;
  std::vector<std::string> throttled;  ///< throttle reasons at the end of the measurement, such as "gpu3: power cap"
  std::optional<Activity> others;      ///< usage of the machine since the previous matrix

  /// Sets labels, and resizes all matrices. Every cell becomes not applicable.
  void shape(std::vector<std::string> row_labels, std::vector<std::string> column_labels);

  std::size_t cells(CellStatus wanted) const;
  /// Returns the number of measurable cells: all except the diagonal and pairs without the required peer access.
  std::size_t cells_expected() const;
  bool complete() const { return cells(CellStatus::ok) == cells_expected(); }
  /// Returns the number of short samples of each cell that has a value.
  std::vector<std::size_t> short_sample_counts() const;
  /// Returns whether all data was correct. Returns nothing without verification.
  std::optional<bool> verified() const;
  /// Returns the values of a part, which is created if missing.
  Values& part(const std::string& name, const std::string& title, const std::string& part_unit);
  /// Adds the part "utilisation": value / limit in percent, for cells with a known limit.
  void add_utilisation();
};

/// Counters and readings of a device before and after the run.
struct Health {
  struct Item {
    std::string name;  ///< "nvlink_replay", "sm_clock_mhz" …
    std::optional<double> before, after;
  };
  std::string label;
  std::vector<Item> counters;  ///< events since the driver was loaded; an increase is a finding
  std::vector<Item> readings;
};

/// A lost endpoint: out of memory, hung or killed. Its remaining cells are skipped.
struct Lost {
  std::string label, why;
  LossKind kind = LossKind::device;
};

struct Phase {
  std::string name;
  double seconds;
};

struct HostBlock {
  std::string name, cpu;
  int cores = 1, numa_nodes = 1;
};

/// Record of a run without its results. Small, because each checkpoint copies it.
struct RecordHead {
  std::string program;
  std::string started;  ///< UTC, "2026-11-21T08:00:00Z"
  double seconds = 0;
  std::vector<Phase> phases;
  std::vector<std::string> command;
  std::string backend;
  HostBlock host;
  std::vector<NodeFacts> nodes;
  std::vector<Endpoint> devices;  ///< devices, without host memory
  Topology topology;
  Software software;
  std::vector<Health> health;
  std::optional<Activity> others;       ///< usage of the machine before the first measurement
  std::vector<std::string> expected;    ///< test cases that the run should measure
  std::vector<std::string> left_out;    ///< requested test cases that --budget excluded
  std::optional<std::string> asked_by;  ///< name of the calling check (--asked-by)
  std::vector<Lost> lost;               ///< lost endpoints; such a run never passes
  std::string result = "PASS";          ///< PASS, FAIL, ERROR or TIMEOUT; INCOMPLETE before the end of the run
  std::optional<std::string> error;
  std::vector<std::string> notes;
  std::optional<Soak> soak;  ///< result of --soak
};

/// Complete record of a run, printed as tables and written as JSON (core/record.hpp).
struct Record : RecordHead {
  std::vector<MatrixResult> results;  ///< only the last result may still change
};

}  // namespace linkmatrix
