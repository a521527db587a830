#pragma once

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

/// partial: a total over fewer copies than were asked for, because an endpoint of the others was lost. It has a value,
/// and is no measurement of the cell.
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

/// Rows of the largest matrix whose samples are kept: of 64 × 64 cells with 28 each they are a megabyte of text.
constexpr std::size_t most_sampled = 64;

/// A further matrix of the same rows and columns, e.g. each direction of a bidirectional one.
struct Part {
  std::string title;
  std::string unit;
  Values values;
};

/// How the cells were put together in time.
struct Schedule {
  bool at_once = false;    ///< rounds of several pairs, else one pair after the other
  bool bisection = false;  ///< only between the two halves
  bool matchings = false;  ///< only those of MatrixResult::matchings
  std::size_t rounds = 0;
  std::size_t pairs_at_once = 0;
  /// How much of the values may be due to pairs at once: the largest |together / alone − 1| of the cells that were
  /// compared, in rounds whose values stand; of matchings their median. 0 where pairs at once did disturb each other,
  /// so that none are; nothing: none was compared.
  std::optional<double> interference;
  std::size_t controlled_rounds = 0;  ///< of the rounds: those of which a cell was measured alone as well, and agreed
};

/// How much of what was transferred in samples was compared, and what came of it.
struct Coverage {
  std::uint64_t transfers = 0;           ///< made in samples
  std::uint64_t compared_transfers = 0;  ///< of these: the last one of each sample
  double compared_share = 0;             ///< of the bytes of those, summed over them
  std::uint64_t samples = 0;             ///< after which data was compared …
  std::uint64_t wrong_samples = 0;       ///< … and of these, those after which it was wrong

  Coverage& operator+=(const Coverage& other) {
    transfers += other.transfers;
    compared_transfers += other.compared_transfers;
    compared_share += other.compared_share;
    samples += other.samples;
    wrong_samples += other.wrong_samples;
    return *this;
  }
};

/// "3 of 66 samples: ", before what was found.
inline std::string wrong_samples_text(const Coverage& coverage) {
  return std::to_string(coverage.wrong_samples) + " of " + std::to_string(coverage.samples) + " samples: ";
}

struct Remeasured {
  std::size_t row, column;
  double before, after;
};

/// Many short samples of each cell, in passes that are spread over the time of the matrix. They are compared with one
/// another only.
struct ShortSampleSet {
  struct Pass {
    double began = 0, ended = 0;         ///< seconds after the matrix began
    Matrix<std::vector<double>> values;  ///< in the order of time
  };
  int asked = 0;            ///< of each cell
  std::uint64_t bytes = 0;  ///< of each copy
  int transfers = 0;        ///< in a sample; of a latency, accesses or messages
  std::vector<Pass> passes;
};

/// What was measured of a matrix of which only few cells are, in the order of time (--concurrency matchings).
struct Matchings {
  struct Matching {
    Purpose purpose;
    bool alone = false;                      ///< only its pairs exchanged data, not all endpoints
    std::vector<std::size_t> rows, columns;  ///< its cells
  };
  std::uint32_t seed = 0;
  double pause = 0;  ///< seconds that were waited before those that confirm
  std::vector<Matching> drawn;
  std::vector<std::string> open;  ///< endpoints that were still suspect at the end
  /// Of each endpoint its group, such as its leaf switch, where that was told: then all that were drawn are inside one.
  std::vector<std::string> groups;
  /// What endpoints of one group sent to as many of another one, at once.
  struct Crossing {
    std::string from, to;
    std::size_t pairs;
    double rate;  ///< of a pair, their mean
    double best;  ///< of the fastest pair
    bool few;     ///< of only a few pairs of each two groups; else of all endpoints
  };
  std::vector<Crossing> crossings;
};

/// What stands in the record of a matrix that is too large for it; its cells are in a file beside the record.
struct CellSummary {
  struct Class {
    std::string name;
    std::uint64_t measured;
    double least, median, most;
    std::string transport{};  ///< of all its cells
  };
  std::string file;                   ///< its name, without the folder
  std::vector<std::string> statuses;  ///< words for the numbers in the file
  std::vector<std::uint64_t> counts;  ///< cells of each
  std::vector<Class> classes;
  std::vector<double> row_medians, column_medians;  ///< 0: nothing was measured
};

/// What a matrix is of, which does not change while it is measured. Rows are sources, columns destinations.
struct MatrixDescription {
  std::string testcase;
  Metric metric = Metric::bandwidth;
  std::string quantity;  ///< what a value is: "bandwidth", "sum of both directions", "load latency" …
  Direction direction = Direction::write;
  Engine engine = Engine::ce;
  std::optional<Kernel> kernel;
  Memory memory = Memory::device;
  std::string transport;           ///< "auto": see transports
  Matrix<std::string> transports;  ///< of each pair of ranks, where they differ; else empty
  std::optional<bool> peer_access;
  std::string unit;  ///< "GB/s" or "us"
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;             ///< where the bytes begin in the buffers
  int blocks = 0, threads = 0;          ///< asked for; 0: the back end's own
  std::optional<HostPages> host_pages;  ///< of host memory that takes part
  int pairs = 0;                        ///< of ranks that make a cell, where their nodes have more; else 0
  bool triangle = false;                ///< nothing below the diagonal is measured
  bool local_copy = false;              ///< the diagonal is measured: each device with itself
  bool verify = true;                   ///< whether the data is to be compared
  std::vector<std::string> rows, columns;
  Matrix<std::string> link_class;
};

/// One measured matrix: facts only.
struct MatrixResult : MatrixDescription {
  Values values, low, high;
  Matrix<CellStatus> status;
  Matrix<std::optional<int>> samples;
  Matrix<std::optional<bool>> converged;
  Matrix<std::optional<std::uint32_t>> round;   ///< in which a cell was measured last, from 0
  Values began, ended;                          ///< when: seconds after the matrix began
  Matrix<std::vector<double>> sampled;          ///< every sample; empty where there are more than `most_sampled` rows
  std::optional<ShortSampleSet> short_samples;  ///< nothing: none were asked for
  Values limit;
  std::map<std::string, Part> parts;
  std::optional<CellSummary> large;  ///< then the matrices above are empty

  std::size_t cells_verified = 0;
  Coverage coverage;                                                  ///< of all cells
  std::map<std::pair<std::size_t, std::size_t>, Coverage> corrupted;  ///< of each cell with a wrong sample
  Schedule schedule;
  std::vector<Remeasured> remeasured;       ///< outliers, once more and alone
  std::vector<Remeasured> controls;         ///< healthy cells, measured again in the same way
  std::optional<Matchings> matchings{};     ///< then a cell that does not apply was left out by design
  std::string timing;                       ///< how copies are released and timed, in words; see device/backend.hpp
  std::optional<double> clock_uncertainty;  ///< seconds by which the clocks of two copies of a cell may differ
  double seconds = 0;
  std::vector<std::string> notes;
  std::vector<std::string> throttled;  ///< "gpu3: power cap": what held devices back at the end of the measurement
  std::optional<Activity> others;      ///< what was done on the machine since the matrix before, by whomever

  /// All matrices of the size of rows × columns, every cell not applicable.
  void shape(std::vector<std::string> row_labels, std::vector<std::string> column_labels);

  std::size_t cells(CellStatus wanted) const;
  /// Cells that can be measured: neither the diagonal nor pairs without the wanted peer access.
  std::size_t cells_expected() const;
  bool complete() const { return cells(CellStatus::ok) == cells_expected(); }
  /// Of each cell that has a value, how many short samples it has.
  std::vector<std::size_t> short_sample_counts() const;
  /// Nothing where verification was not asked for.
  std::optional<bool> verified() const;
  /// The part of that name, made if it is not there.
  Values& part(const std::string& name, const std::string& title, const std::string& part_unit);
  /// Adds the part "utilisation": value over limit in percent, where a limit is known.
  void add_utilisation();
};

/// What a device said of itself before and after the run: for the record, and for the alarm.
struct Health {
  struct Item {
    std::string name;  ///< "nvlink_replay", "sm_clock_mhz" …
    std::optional<double> before, after;
  };
  std::string label;
  std::vector<Item> counters;  ///< events since the driver was loaded: one that rose is a finding
  std::vector<Item> readings;
};

/// An endpoint that could not take part, or not to the end: out of memory, hung, killed. Its further cells are not
/// tried.
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

/// What one program run found out, without its results: small, and copied for every checkpoint.
struct RecordHead {
  std::string program;
  std::string started;  ///< UTC, "2026-11-21T08:00:00Z"
  double seconds = 0;
  std::vector<Phase> phases;
  std::vector<std::string> command;
  std::string backend;
  HostBlock host;
  std::vector<NodeFacts> nodes;
  std::vector<Endpoint> devices;  ///< without host memory
  Topology topology;
  Software software;
  std::vector<Health> health;
  std::optional<Activity> others;       ///< before anything was measured
  std::vector<std::string> expected;    ///< test cases that were to be measured
  std::vector<std::string> left_out;    ///< test cases that were asked for, and that --budget had no room for
  std::optional<std::string> asked_by;  ///< the check that asked (--asked-by)
  std::vector<Lost> lost;               ///< never a PASS
  std::string result = "PASS";          ///< PASS, FAIL, ERROR or TIMEOUT; INCOMPLETE of a run that has not ended
  std::optional<std::string> error;
  std::vector<std::string> notes;
  std::optional<Soak> soak;  ///< of a run with --soak
};

/// Everything one program run found out: printed as tables, written as JSON (core/record.hpp).
struct Record : RecordHead {
  std::vector<MatrixResult> results;  ///< the last one may still be measured; those before it do not change any more
};

}  // namespace linkmatrix
