#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/backend.hpp"

namespace linkmatrix {

/// A back end whose times are a formula, for tests of rules about times. It copies nothing.
class ScriptedBackend final : public Backend {
 public:
  /// Returns the seconds of one transfer. at_once: number of concurrent copies.
  using Seconds = std::function<double(const Copy&, std::size_t at_once)>;

  ScriptedBackend(int devices, Seconds seconds) : seconds_{std::move(seconds)} {
    const auto n = static_cast<std::size_t>(devices);
    for (int i = 0; i < devices; ++i) {
      Endpoint endpoint;
      endpoint.index = i;
      endpoint.label = "dev" + std::to_string(i);
      endpoint.node = "node";
      endpoints_.push_back(endpoint);
    }
    topology_ = {Matrix<std::string>(n, n, "NV1"), Matrix<std::optional<int>>(n, n, 1),
                 Matrix<std::optional<bool>>(n, n, true), Matrix<std::optional<int>>(n, n, 1),
                 Matrix<std::optional<double>>(n, n, 25.0)};
  }

  void add_host_memory() {
    Endpoint memory;
    memory.kind = EndpointKind::host;
    memory.label = "numa" + std::to_string(endpoints_.size() - topology_.link_class.rows());
    endpoints_.push_back(memory);
  }

  std::string name() const override { return "host"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  std::optional<std::string> refusal(const Copy&) const override { return std::nullopt; }
  std::vector<int> resources(const Copy& copy) const override { return {copy.source, copy.destination}; }
  void prepare(std::span<const Copy> copies, Deadline) override {
    if (before_prepare) before_prepare(copies);
  }

  Timeline run(std::span<const Copy> copies, Deadline deadline) override {
    ++runs;
    widest = std::max(widest, copies.size());
    if (before_run) before_run(runs);
    if (before_copies) before_copies(copies);
    if (before_deadline) before_deadline(copies, deadline);
    Timeline timeline;
    for (const Copy& copy : copies) {
      const double start = late ? late(copy) : 0;
      timeline.copies.push_back(
          {{start, start + seconds_(copy, copies.size()) * copy.repeats}, static_cast<double>(copy.repeats), 0});
    }
    if (timing) timing(copies, timeline);
    return timeline;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t, Deadline) override {
    if (before_verify) before_verify(copies);
    std::vector<PatternCheck> checks;
    for (const Copy& copy : copies) checks.push_back({corrupt && corrupt(copy) ? wrong_bytes : 0u, 64});
    return checks;
  }

  bool compares_runs() const override { return wrong_after != nullptr; }
  void lay_patterns(std::span<const Copy> copies, Deadline) override {
    laid_before_run.emplace_back(runs, copies.size());
  }
  std::vector<PatternCheck> compare(std::span<const Copy> copies, const Portion& portion, Deadline) override {
    ++compared;
    portions.push_back(portion);
    if (before_verify) before_verify(copies);
    std::vector<PatternCheck> checks;
    for (const Copy& copy : copies) checks.push_back({wrong_after(copy, compared) ? wrong_bytes : 0u, 64});
    return checks;
  }

  LossKind lost_kind(int) const override { return loss; }
  std::optional<std::string> lost(int endpoint) const override {
    const auto found = gone.find(endpoint);
    return found == gone.end() ? std::nullopt : std::optional(found->second);
  }

  std::function<void(std::span<const Copy>)> before_prepare;  ///< may throw CopiesFailed
  std::function<void(int run)> before_run;
  std::function<void(std::span<const Copy>)> before_copies;  ///< may throw CopiesFailed
  std::function<void(std::span<const Copy>, Deadline)> before_deadline;
  std::function<void(std::span<const Copy>)> before_verify;      ///< may throw CopiesFailed
  std::function<void(std::span<const Copy>, Timeline&)> timing;  ///< in place of the formula
  std::function<double(const Copy&)> late;                       ///< seconds after the others that a copy starts
  LossKind loss = LossKind::device;                              ///< of these
  std::map<int, std::string> gone;                               ///< endpoints that are lost, and why
  std::function<bool(const Copy&)> corrupt;
  std::uint64_t wrong_bytes = 5;  ///< of a corrupt copy
  /// Returns whether the last transfer of a run was wrong, by the number of the comparison. If set, runs are compared.
  std::function<bool(const Copy&, int comparison)> wrong_after;
  std::vector<std::pair<int, std::size_t>> laid_before_run;  ///< after so many runs, of so many copies
  std::vector<Portion> portions;
  int compared = 0;
  int runs = 0;
  std::size_t widest = 0;
  Topology topology_;

 private:
  Seconds seconds_;
  std::vector<Endpoint> endpoints_;
  Software software_;
};

}  // namespace linkmatrix
