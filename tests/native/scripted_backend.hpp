#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/backend.hpp"

namespace linkmatrix {

/// A back end whose times are a formula: for tests of what is done with times. Nothing is copied.
class ScriptedBackend final : public Backend {
 public:
  /// Seconds of one transfer, given the copy and how many copies run at once.
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
    memory.label = "numa0";
    endpoints_.push_back(memory);
  }

  std::string name() const override { return "host"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  std::optional<std::string> refusal(const Copy&) const override { return std::nullopt; }
  std::vector<int> resources(const Copy& copy) const override { return {copy.source, copy.destination}; }
  void prepare(std::span<const Copy>, Deadline) override {}

  std::vector<CopyTime> run(std::span<const Copy> copies, int, Deadline) override {
    ++runs;
    widest = std::max(widest, copies.size());
    if (before_run) before_run(runs);
    std::vector<CopyTime> times;
    for (const Copy& copy : copies) times.push_back({seconds_(copy, copies.size()), 0});
    return times;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t, Deadline) override {
    std::vector<PatternCheck> checks;
    for (const Copy& copy : copies) checks.push_back({corrupt && corrupt(copy) ? 5u : 0u, 64});
    return checks;
  }

  std::function<void(int run)> before_run;
  std::function<bool(const Copy&)> corrupt;
  int runs = 0;
  std::size_t widest = 0;
  Topology topology_;

 private:
  Seconds seconds_;
  std::vector<Endpoint> endpoints_;
  Software software_;
};

}  // namespace linkmatrix
