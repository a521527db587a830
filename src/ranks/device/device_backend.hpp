#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "ranks/device/device_messages.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// The devices of all ranks as one back end, on rank 0. Endpoint i is rank i. Every rank allocates its buffers, maps
/// the buffers of other ranks, and enqueues its copies behind a gate; then rank 0 lets all gates open together.
class DeviceBackend final : public Backend {
 public:
  /// Keeps references to all arguments except `kind`.
  DeviceBackend(Correspondence& ranks, const Machine& machine, cuda::HandleKind kind)
      : ranks_{ranks}, machine_{machine}, kind_{kind} {}

  std::string name() const override { return machine_.name(); }
  const std::vector<Endpoint>& endpoints() const override { return machine_.endpoints(); }
  const Topology& topology() const override { return machine_.topology(); }
  const Software& software() const override { return machine_.software(); }

  std::optional<std::string> refusal(const Copy& copy) const override;
  std::vector<int> resources(const Copy& copy) const override;
  void prepare(std::span<const Copy> copies, Deadline deadline) override;
  Timeline run(std::span<const Copy> copies, Deadline deadline) override;
  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override;
  std::optional<std::string> lost(int endpoint) const override;
  LossKind lost_kind(int endpoint) const override;

 private:
  using Answers = std::map<int, DeviceAnswer>;  ///< by rank
  /// Returns the ranks that take part in a copy.
  using Parts = std::set<int> (*)(const Copy& copy);

  Answers ask(const std::map<int, DeviceOrder>& orders, std::span<const Copy> copies, Deadline deadline);
  Answers ask_parts(const DeviceOrder& form, std::span<const Copy> copies, Parts parts, Deadline deadline);
  void let_go(std::span<const Copy> copies);
  void reserve(std::span<const Copy> copies, Deadline deadline);
  void open(std::span<const Copy> copies, Deadline deadline);
  void check_reachable(std::span<const Copy> copies) const;
  Timeline timeline(std::span<const Copy> copies, const Answers& answers, double seconds) const;
  const std::string& node(int endpoint) const { return endpoints()[static_cast<std::size_t>(endpoint)].node; }

  Correspondence& ranks_;
  const Machine& machine_;
  cuda::HandleKind kind_;
  std::map<BufferName, NamedBuffer> made_;                      ///< allocated buffers
  std::set<std::pair<int, BufferName>> opened_;                 ///< opened buffers: opening rank and owner
  std::map<std::pair<int, BufferName>, std::string> unopened_;  ///< buffers that could not be opened, with the reason
  std::map<int, std::string> failed_;                           ///< ranks whose device failed, with the reason
  std::set<int> short_of_memory_;  ///< failed ranks that have less memory than other ranks, because of other processes
};

}  // namespace linkmatrix::ranks
