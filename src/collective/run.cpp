#include "collective/run.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "collective/bus_limit.hpp"
#include "collective/collective_sampler.hpp"
#include "collective/collective_table.hpp"
#include "collective/collectives.hpp"
#include "collective/expected.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "program/program_main.hpp"
#include "program/program_run.hpp"
#ifdef LINKMATRIX_MPI
#include "collective/rank_collectives.hpp"
#endif
#ifdef LINKMATRIX_NCCL
#include "collective/nccl/device_collectives.hpp"
#include "device/cuda/cuda_backend.hpp"
#endif

namespace linkmatrix {
namespace {

/// A test case at one size: the meaning of each cell.
struct SizePlan {
  CollectiveSampler::Cases cases;
  MatrixResult result;
};

constexpr std::size_t most_columns = 64;         // subsets per suite; each needs an NCCL communicator (0.07 s)
constexpr std::uint64_t pair_bytes = 512 * MiB;  // size of sends between pairs, as the copies of p2p_matrix

/// Returns the implementation of the collectives: NCCL between the devices of this process, or the ranks. Throws
/// BadInput if this build or this machine has neither.
std::unique_ptr<Collectives> choose_collectives([[maybe_unused]] const CollectiveOptions& options) {
#ifdef LINKMATRIX_MPI
  if (started_by_mpirun()) return make_rank_collectives(options);
#else
  if (started_by_mpirun())
    throw BadInput("this collective_perf was built without MPI: configure with -DLINKMATRIX_MPI=ON");
#endif
#ifdef LINKMATRIX_NCCL
  if (const std::string why = why_no_cuda(); !why.empty())
    throw BadInput("no GPU to measure (" + why + "); to measure host memory: mpirun -n 4 collective_perf");
  return make_device_collectives(options);
#else
  throw BadInput(
      "this collective_perf was built without NCCL (-DLINKMATRIX_CUDA=ON -DLINKMATRIX_NCCL=ON); to measure host "
      "memory: mpirun -n 4 collective_perf");
#endif
}

class CollectiveRun final : public ProgramRun {
 public:
  CollectiveRun(const CollectiveOptions& options, Supervisor& supervisor)
      : ProgramRun("collective_perf", options, supervisor), options_{options} {}

 private:
  void start() override {
    collectives_ = choose_collectives(options_);
    use(collectives_->machine());
  }

  void act() override {
    const auto testcases = chosen();
    poll_first();
    record().change([&](Record& record) {
      for (const auto& testcase : testcases) record.expected.push_back(testcase.name);
    });
    for (const auto& testcase : testcases) measure_all_of(testcase);
    record().change([&](Record& record) { record.software.merge(collectives_->facts()); });
    end_phase("measure");
  }

  /// Returns the test cases. All named test cases must be able to run. Of a suite, selects those that the library
  /// supports.
  /// Throws BadInput for impossible test cases and options without effect.
  std::vector<CollectiveTestCase> chosen() const {
    auto wanted = options_.named.empty() ? collective_suite(options_.suite.value_or("quick")) : options_.named;
    refuse_idle_options(wanted);
    if (options_.named.empty())
      std::erase_if(wanted, [this](const auto& t) { return !is_known(t) || !is_of_a_suite(t.without); });
    for (const auto& testcase : wanted) {
      refuse_one_layout_twice(testcase);
      for (const std::uint64_t bytes : sizes_of(testcase)) {
        if (columns_of(testcase, bytes).empty())
          throw BadInput(testcase.name + " cannot run here: " +
                         collectives_->refusal(form_of(testcase, bytes))
                             .value_or("it needs " + std::string(needs(testcase.without))));
        refuse_blind(columns_of(testcase, bytes).front());
      }
    }
    if (options_.fault && std::ranges::none_of(wanted, [this](const auto& t) { return has_fault(t); }))
      throw BadInput("--simulate-fault " + options_.fault->text() +
                     ": no measured rank can have this fault: name a rank, or a direction between neighbours such as "
                     "rank0->rank1");
    return wanted;
  }

  /// Throws BadInput for two sizes that are rounded to the same size, because all ranks need equal parts.
  void refuse_one_layout_twice(const CollectiveTestCase& testcase) const {
    std::map<std::uint64_t, std::uint64_t> asked;
    for (const std::uint64_t bytes : sizes_of(testcase)) {
      const std::uint64_t size = layout_of(form_of(testcase, bytes), count()).size_bytes;
      const auto [before, is_new] = asked.try_emplace(size, bytes);
      if (!is_new)
        throw BadInput("sizes " + std::to_string(before->second) + " and " + std::to_string(bytes) + " are both " +
                       std::to_string(size) + " bytes for " + testcase.name + " of " + std::to_string(count()) +
                       " ranks: omit one of them");
    }
  }

  /// Returns whether the library supports the test case with default options. Other options never omit a test case.
  bool is_known(const CollectiveTestCase& testcase) const {
    return !of_library({}, testcase, collectives_->default_sizes().front()).empty();
  }

  bool has_fault(const CollectiveTestCase& testcase) const {
    const CollectiveSampler::Cases cases = plan(testcase, sizes_of(testcase).front()).cases;
    const CollectiveSampler sampler(*collectives_, cases, options_.measure.warmup);
    return std::ranges::any_of(cases, [&](const auto& one) {
      return std::ranges::any_of(sampler.paths(one.first),
                                 [&](const Path& path) { return options_.fault->affects(path); });
    });
  }

  /// Throws BadInput if the type rounds too coarsely to detect wrong data.
  void refuse_blind(const CollectiveCase& wanted) const {
    if (!options_.measure.verify || !cannot_detect_errors(wanted, count())) return;
    throw BadInput("--reduction avg: " + std::string(word(wanted.type)) + " rounds an average of " +
                   std::to_string(members(wanted, count())) +
                   " ranks too coarsely to detect wrong elements: use another --type, or --no-verify");
  }

  void refuse_idle_options(const std::vector<CollectiveTestCase>& testcases) const {
    const auto any = [&](bool (*is)(Collective)) {
      return std::ranges::any_of(testcases, [is](const auto& t) { return is(t.collective); });
    };
    refuse_unused(options_, {.has_ranks = started_by_mpirun(),
                             .memory = collectives_->memory(),
                             .any_reduces = any(reduces),
                             .any_has_root = any(has_root)});
    if (options_.form.root >= count())
      throw BadInput("--root " + std::to_string(options_.form.root) + " is not a rank: use 0 to " +
                     std::to_string(count() - 1));
  }

  int count() const { return static_cast<int>(collectives_->ranks().size()); }

  CollectiveCase form_of(const CollectiveTestCase& testcase, std::uint64_t bytes) const {
    return form_of(options_.form, testcase, bytes);
  }
  static CollectiveCase form_of(CollectiveCase wanted, const CollectiveTestCase& testcase, std::uint64_t bytes) {
    wanted.collective = testcase.collective;
    wanted.bytes = bytes;
    testcase.algorithm.copy(wanted.algorithm.data(), wanted.algorithm.size() - 1);
    return wanted;
  }

  /// Returns the columns of a test case: out of place and in place, or one per excluded subset.
  std::vector<CollectiveCase> columns_of(const CollectiveTestCase& testcase, std::uint64_t bytes) const {
    return of_library(options_.form, testcase, bytes);
  }
  std::vector<CollectiveCase> of_library(const CollectiveCase& form, const CollectiveTestCase& testcase,
                                         std::uint64_t bytes) const {
    std::vector<CollectiveCase> cases(2, form_of(form, testcase, bytes));
    cases[1].in_place = true;
    if (testcase.without != LeftOut::none) {
      const std::vector<Subset> subsets = subsets_without(testcase.without);
      cases.assign(subsets.size(), cases[0]);
      for (std::size_t i = 0; i < cases.size(); ++i) cases[i].excluded = subsets[i].excluded;
    }
    std::erase_if(cases, [this](const CollectiveCase& one) {
      return (one.in_place && !has_in_place(one.collective)) || collectives_->refusal(one);
    });
    return cases;
  }

  std::vector<Subset> subsets_without(LeftOut excluded) const {
    std::vector<std::string> nodes;
    for (const std::string& label : collectives_->ranks()) {
      const auto& all = collectives_->machine().endpoints();
      const auto found = std::ranges::find(all, label, &Endpoint::label);
      nodes.push_back(found == all.end() ? "" : found->node);
    }
    return subsets_of(excluded, collectives_->ranks(), nodes);
  }

  /// Returns whether a suite includes the subsets. With more than 64 ranks, halves replace single ranks.
  bool is_of_a_suite(LeftOut excluded) const {
    if (excluded == LeftOut::half) return static_cast<std::size_t>(count()) > most_columns;
    return subsets_without(excluded).size() <= most_columns;
  }

  /// Returns the sizes of a test case. Measurements of single ranks or pairs have one default size.
  std::vector<std::uint64_t> sizes_of(const CollectiveTestCase& testcase) const {
    if (!options_.sizes.empty()) return options_.sizes;
    if (testcase.collective == Collective::send) return {pair_bytes};
    std::vector<std::uint64_t> sizes = collectives_->default_sizes();
    if (testcase.without != LeftOut::none) return {sizes.back()};
    std::erase_if(sizes, [this](std::uint64_t bytes) { return bytes < least_bytes(count()); });
    return sizes;
  }

  SizePlan plan(const CollectiveTestCase& testcase, std::uint64_t bytes) const {
    SizePlan plan = testcase.collective == Collective::send ? matrix_of(testcase, bytes) : row_of(testcase, bytes);
    MatrixResult& result = plan.result;
    result.testcase = testcase.name;
    result.engine = collectives_->engine();
    result.memory = collectives_->memory();
    result.transport = word(collectives_->engine());
    result.unit = "GB/s";
    result.verify = options_.measure.verify;
    if (const std::string asked = setting_of(plan.cases.begin()->second); !asked.empty())
      result.notes.push_back("asked for " + asked);
    result.size_bytes = layout_of(plan.cases.begin()->second, count()).size_bytes;
    for (const auto& [cell, wanted] : plan.cases) result.status(cell.row, cell.column) = CellStatus::not_run;
    return plan;
  }

  /// Returns the plan with one row (all ranks) and the columns of the test case.
  SizePlan row_of(const CollectiveTestCase& testcase, std::uint64_t bytes) const {
    SizePlan plan;
    std::vector<std::string> columns;
    for (const CollectiveCase& one : columns_of(testcase, bytes)) {
      plan.cases[{0, columns.size()}] = one;
      columns.push_back(one.in_place ? "in-place" : "out-of-place");
    }
    if (const std::vector<Subset> subsets = subsets_without(testcase.without); !subsets.empty())
      std::ranges::transform(subsets, columns.begin(), &Subset::column);
    plan.result.quantity = "bus bandwidth";
    plan.result.set_labels({"all"}, columns);
    for (std::size_t c = 0; c < columns.size(); ++c)
      plan.result.link_class(0, c) = columns[c];  // separate classes, so that columns are not compared
    return plan;
  }

  /// Returns the plan with every ordered pair of ranks.
  SizePlan matrix_of(const CollectiveTestCase& testcase, std::uint64_t bytes) const {
    SizePlan plan;
    plan.result.quantity = "bandwidth";
    plan.result.set_labels(collectives_->ranks(), collectives_->ranks());
    const Topology& topology = collectives_->machine().topology();
    for (std::size_t r = 0; r < plan.result.rows.size(); ++r)
      for (std::size_t c = 0; c < plan.result.columns.size(); ++c) {
        if (!topology.link_class.empty()) plan.result.link_class(r, c) = topology.link_class(r, c);
        if (r == c) continue;
        if (!topology.limit.empty()) plan.result.limit(r, c) = topology.limit(r, c);
        CollectiveCase& wanted = plan.cases[{r, c}] = form_of(testcase, bytes);
        wanted.source = static_cast<int>(r), wanted.destination = static_cast<int>(c);
      }
    return plan;
  }

  void measure_all_of(const CollectiveTestCase& testcase) {
    std::vector<CollectiveLine> lines;
    for (const std::uint64_t bytes : sizes_of(testcase)) lines.push_back(measure_one(plan(testcase, bytes)));
    const bool has_ways = testcase.collective != Collective::send && testcase.without == LeftOut::none;
    if (has_ways) supervisor().print(collective_table(testcase.name, lines));
  }

  CollectiveLine measure_one(SizePlan plan) {
    CollectiveSampler sampler(*collectives_, plan.cases, options_.measure.warmup);
    if (options_.fault && options_.fault->kind == SimulatedFault::Kind::corrupt)
      sampler.set_simulated_fault(*options_.fault);
    measure_one_by_one(std::views::keys(plan.cases), std::move(plan.result), sampler, options_.measure);
    return finish(plan.cases, sampler);
  }

  CollectiveLine finish(const CollectiveSampler::Cases& cases, const CollectiveSampler& sampler) {
    const CollectiveCase& first = cases.begin()->second;
    CollectiveLine line{first, layout_of(first, count()), {}, {}};
    finish_last([&](Record& record) {
      MatrixResult& result = record.results.back();
      for (const auto& [cell, wanted] : cases)
        if (wanted.collective != Collective::send) add_figures(cell, wanted, sampler, result, line);
      if (first.collective != Collective::send) add_limits(cases, sampler, result);
      note_choices(sampler, result);
    });
    return line;
  }

  static void add_figures(const CellIndex& cell, const CollectiveCase& wanted, const CollectiveSampler& sampler,
                          MatrixResult& result, CollectiveLine& line) {
    const auto [r, c] = cell;
    if (!result.values(r, c)) return;
    const double bus = *result.values(r, c), algorithm = bus / line.layout.bus_factor;
    const double microseconds = static_cast<double>(line.layout.size_bytes) / algorithm * 1e-3;
    result.part("algorithm_bandwidth", "algorithm bandwidth", "GB/s")(r, c) = algorithm;
    result.part("time", "time", "us")(r, c) = microseconds;
    CollectiveFigures figures{microseconds, algorithm, bus, std::nullopt};
    if (const auto wrong = sampler.wrong().find(cell); wrong != sampler.wrong().end()) figures.wrong = wrong->second;
    (wanted.in_place ? line.in_place : line.out_of_place) = figures;
  }

  void add_limits(const CollectiveSampler::Cases& cases, const CollectiveSampler& sampler, MatrixResult& result) {
    for (const auto& [cell, wanted] : cases) {
      const auto choice = sampler.choices().find(cell);
      const Route route =
          route_of(collectives_->engine(), wanted.collective, choice == sampler.choices().end() ? "" : choice->second);
      result.limit(cell.row, cell.column) = bus_limit(wanted, route, endpoints_of(wanted), machine().nodes());
    }
    result.add_utilisation();
  }

  /// Returns the labels of the participating ranks.
  std::vector<Endpoint> endpoints_of(const CollectiveCase& wanted) const {
    const std::vector<std::string> labels = collectives_->ranks();
    std::vector<Endpoint> ranks = collectives_->machine().endpoints();
    std::erase_if(ranks, [&](const Endpoint& one) {
      const auto found = std::ranges::find(labels, one.label);
      return found == labels.end() || wanted.excluded.has(static_cast<int>(found - labels.begin()));
    });
    return ranks;
  }

  static void note_choices(const CollectiveSampler& sampler, MatrixResult& result) {
    std::set<std::string> choices;
    for (const auto& [cell, choice] : sampler.choices()) choices.insert(choice);
    for (const std::string& choice : choices) result.notes.push_back("NCCL ran " + choice);
  }

  const CollectiveOptions& options_;
  std::unique_ptr<Collectives> collectives_;
};

}  // namespace

ExitCode run_collectives(const CollectiveOptions& options, Supervisor& supervisor) {
  return CollectiveRun(options, supervisor).run();
}

}  // namespace linkmatrix
