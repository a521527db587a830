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

/// Status of a cell. partial: an endpoint was lost, so the value covers only some of the cell's copies. A partial cell
/// does not count as measured.
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

/// An additional matrix of a result, such as one direction of a bidirectional matrix. Same rows and columns.
struct Part {
  std::string title;
  std::string unit;
  Values values;
};

/// How the cells were scheduled.
struct Schedule {
  bool at_once = false;    ///< whether several pairs ran concurrently
  bool bisection = false;  ///< whether only pairs between the two halves of the nodes were measured
  bool matchings = false;  ///< whether only the cells of MatrixResult::matchings were measured
  std::size_t rounds = 0;
  std::size_t pairs_at_once = 0;  ///< largest number of concurrent pairs
  /// Effect of concurrent pairs: the largest |concurrent / alone − 1| of the compared cells in accepted rounds; with
  /// matchings, the median. 0 also if every cell was measured alone. Nothing: not compared.
  std::optional<double> interference;
  std::size_t controlled_rounds = 0;  ///< number of rounds accepted by a control measurement
};

/// Amount of compared data, and result of the comparison.
struct Coverage {
  std::uint64_t transfers = 0;           ///< number of transfers in samples
  std::uint64_t compared_transfers = 0;  ///< number of compared transfers: the last transfer of each sample
  double compared_share = 0;             ///< sum over compared transfers: compared fraction of the bytes
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

/// Result of a remeasurement. reproduced: the median of the repeated measurements is slow. intermittent: their median
/// is healthy, but the value in the matrix is slow.
enum class Outcome { reproduced, intermittent, not_reproduced };

template <>
struct Words<Outcome> {
  static constexpr std::string_view name = "outcome";
  static constexpr std::array table{std::pair{Outcome::reproduced, "reproduced"},
                                    std::pair{Outcome::intermittent, "intermittent"},
                                    std::pair{Outcome::not_reproduced, "not-reproduced"}};
};

/// A cell that was measured again.
struct Remeasured {
  std::size_t row, column;
  double before, after;              ///< first value, and median of the repeated measurements
  std::optional<Outcome> outcome{};  ///< set for outliers, not for control cells
};

/// Short samples (--short-samples) of each cell, in passes over the matrix. They are compared only with each other.
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

/// Result of --concurrency matchings, which measures few cells of the matrix.
struct Matchings {
  struct Matching {
    Purpose purpose;
    bool alone = false;                      ///< whether most other endpoints were idle
    std::vector<std::size_t> rows, columns;  ///< cells of the matching
  };
  std::uint32_t seed = 0;
  double pause = 0;               ///< pause before the confirming matchings, in seconds
  std::vector<Matching> drawn;    ///< in the order of time
  std::vector<std::string> open;  ///< labels of endpoints that were still suspected at the end
  /// Group of each endpoint, such as its leaf switch. With groups, matchings are inside groups. Empty: no groups.
  std::vector<std::string> groups;
  /// Rates from one group to another while their endpoints exchange data concurrently.
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
    double shift;                       ///< median deviation of its slow cells as a fraction; negative
    std::size_t slow, cells;            ///< before the pause: slow cells, and all its cells
    std::size_t slow_again, confirmed;  ///< after the pause: slow matchings, and all its matchings
    bool is_reproduced() const { return slow_again >= std::min<std::size_t>(2, confirmed); }
  };
  /// All pairs are slower under full traffic than under little traffic (find_shared_bottleneck()).
  struct SharedBottleneck {
    double loss;                   ///< median loss of the compared cells as a fraction
    std::size_t slower, compared;  ///< slower cells, and compared cells
  };
  std::optional<SharedBottleneck> shared_bottleneck;
  std::vector<SlowEndpoint> slow_endpoints;          ///< empty if all pairs share a bottleneck
  std::vector<std::size_t> slow_rows, slow_columns;  ///< all slow cells
};

/// Summary of a matrix that is too large for the record. Its cells are in a separate file (ranks/cell_file.hpp).
struct CellSummary {
  struct Class {
    std::string name;
    std::uint64_t measured;
    double least, median, most;  ///< values of its measured cells
    std::string transport{};     ///< transport of its cells
  };
  std::string file;                                 ///< name of the file, without folder
  std::vector<std::string> statuses;                ///< names of the status numbers in the file
  std::vector<std::uint64_t> counts;                ///< number of cells per status number
  std::vector<Class> classes;                       ///< one per link class
  std::vector<double> row_medians, column_medians;  ///< 0: nothing was measured
};

/// Description of a matrix. It does not change during the measurement.
struct MatrixDescription {
  std::string testcase;
  Metric metric = Metric::bandwidth;
  std::string quantity;  ///< meaning of a value: "bandwidth", "sum of both directions", "load latency" …
  Direction direction = Direction::write;
  Engine engine = Engine::ce;
  std::optional<Kernel> kernel;
  Memory memory = Memory::device;
  std::string transport;            ///< "auto": see `transports`
  Matrix<std::string> transports;   ///< transport of each pair of ranks, if transports differ; else empty
  std::optional<bool> peer_access;  ///< whether copies use peer access; nothing: not applicable
  std::string unit;                 ///< "GB/s" or "us"
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;             ///< offset of the data in the buffers
  int blocks = 0, threads = 0;          ///< requested launch shape of kernels; 0: default of the back end
  std::optional<HostPages> host_pages;  ///< pages of host memory; nothing: no host memory takes part
  int pairs = 0;                        ///< rank pairs per cell, if nodes have more ranks than that; else 0
  bool triangle = false;                ///< whether cells below the diagonal are excluded
  bool local_copy = false;              ///< whether the diagonal is measured: copies inside each device
  bool verify = true;                   ///< whether data is compared
  std::vector<std::string> rows, columns;
  Matrix<std::string> link_class;
};

/// One measured matrix, without any judgement.
struct MatrixResult : MatrixDescription {
  Values values, low, high;  ///< medians, and their intervals
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
  std::vector<Remeasured> remeasured;       ///< outliers that were measured again alone
  std::vector<Remeasured> controls;         ///< healthy control cells that were measured again in the same way
  double control_change = 0;                ///< see control_change() in measure/outliers.hpp
  std::optional<Matchings> matchings{};     ///< set with --concurrency matchings
  std::string timing;                       ///< see Clocking::timing
  std::optional<double> clock_uncertainty;  ///< see Clocking::uncertainty
  double seconds = 0;                       ///< duration of the measurement
  std::vector<std::string> notes;
  std::vector<std::string> throttled;  ///< throttle reasons at the end of the measurement, such as "gpu3: power cap"
  std::optional<Activity> others;      ///< usage of the machine since the previous matrix

  /// Sets the labels and resizes all matrices. Every cell becomes not_applicable.
  void set_labels(std::vector<std::string> row_labels, std::vector<std::string> column_labels);

  /// Returns the number of cells with a status.
  std::size_t cells(CellStatus wanted) const;
  /// Returns the number of cells that are neither not_applicable nor no_peer_access.
  std::size_t cells_expected() const;
  bool complete() const { return cells(CellStatus::ok) == cells_expected(); }
  /// Returns the number of short samples of each cell that has a value.
  std::vector<std::size_t> short_sample_counts() const;
  /// Returns whether all data was correct. Returns nothing without verification.
  std::optional<bool> verified() const;
  /// Returns the values of a part. Creates a missing part with this title and unit.
  Values& part(const std::string& name, const std::string& title, const std::string& part_unit);
  /// Adds the part "utilisation": value / limit in percent, for cells with a known limit.
  void add_utilisation();
};

/// Counters and readings of a device or network port before and after the run.
struct Health {
  struct Item {
    std::string name;  ///< "nvlink_replay", "sm_clock_mhz" …
    std::optional<double> before, after;
  };
  std::string label;
  std::vector<Item> counters;  ///< values that a healthy run does not increase
  std::vector<Item> readings;  ///< values that may change
};

/// An endpoint that failed during the run: out of memory, hung or killed. Its remaining cells are skipped.
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

/// The record of a run without its results. Separate, because each checkpoint copies it.
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
  std::optional<Activity> others;               ///< usage of the machine before the first measurement
  std::vector<std::string> expected;            ///< test cases that the run should measure
  std::vector<std::string> excluded_testcases;  ///< requested test cases that --budget excluded
  std::optional<std::string> asked_by;          ///< name of the calling check (--asked-by)
  std::vector<Lost> lost;                       ///< lost endpoints; such a run never passes
  std::string result = "PASS";                  ///< PASS, FAIL, ERROR or TIMEOUT; INCOMPLETE before the end of the run
  std::optional<std::string> error;
  std::vector<std::string> notes;
  std::optional<Soak> soak;  ///< result of --soak
};

/// Complete record of a run, printed as tables and written as JSON (core/record.hpp).
struct Record : RecordHead {
  std::vector<MatrixResult> results;  ///< only the last result may still change
};

}  // namespace linkmatrix
